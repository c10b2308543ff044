import type { Middleware, Next, ParameterizedContext } from 'koa';
import compose from 'koa-compose';

import { insufficientScope } from '../access/challenge.ts';
import { callerSignal, sendAnswer } from '../api/actions/answer.ts';
import type { ActionContext } from '../api/actions/answer.ts';
import { actionList, indexActions } from '../api/actions/action-index.ts';
import type { ActionIndex } from '../api/actions/action-index.ts';
import { createPerformAction } from '../api/actions/perform-action.ts';
import { createAnswerOnce } from '../api/answer-once.ts';
import { LIMITS, requestLimits } from '../api/limits.ts';
import { baseUrlOf, checkPath, pathOf } from '../api/paths.ts';
import { createRequestLimits } from '../api/request-limits.ts';
import type { RequestLimiter } from '../api/request-limits.ts';
import type { ApiAuth } from '../api/router.ts';
import type { GuardedState, User } from '../contracts/index.ts';
import { internalsOf } from '../contracts/internals.ts';
import { BodyError, ConfigError } from '../errors.ts';
import { readJson } from '../http/body.ts';
import { limitConcurrency } from '../limits/concurrency-limit.ts';
import { problems, sendProblem } from '../http/problem.ts';
import { requestIdOf } from '../http/request-id.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { Given } from '../options/declare.ts';
import { requireMembersFor } from '../options/storage-members.ts';
import { text } from '../options/values.ts';
import { createProtocol } from './protocol.ts';
import { hosts, origins, refuseOtherOriginsAndHosts } from './origins-and-hosts.ts';
import { toolsOf } from './tools.ts';
import type { Tool } from './tools.ts';

// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- they are in the type of the result
function mcpEndpointOptions<P extends string, U extends User, S extends object, A extends string>() {
  return {
    /** The server that `createAuthServer()` returned. */
    auth: unchecked<ApiAuth<P, U, S, A>>,
    /** The actions of the API. Those with `mcp` become tools, in this order. */
    actions: actionList<NoInfer<P>>,
    /** The path of the endpoint. @default that of `resource`, else `/mcp` below the server's mount path */
    path: optional(unchecked<string>),
    /**
     * The URL of the endpoint, as the option `resources` of the server names it: tokens for it are accepted, and no others.
     * @default the URL that `path` has below the issuer, such as `https://platform.example/mcp`
     */
    resource: optional(unchecked<NoInfer<A>>),
    /**
     * How many messages a user and a client may send, and how often they may call each tool. The same limits as those of
     * `createApiRouter()` count the same requests.
     * @default none
     */
    limits: optional(requestLimits, {}),
    /** In bytes: the largest message. @default 65536 */
    bodyLimit: LIMITS.bodyLimit,
    /** The origins of web pages that may send requests, such as `https://app.example`. @default that of the endpoint */
    origins: optional(origins),
    /**
     * Further hosts that the `Host` header may name, without ports. The hosts of the endpoint and of the issuer, and those of the
     * machine itself, such as `localhost`, are always accepted.
     * @default []
     */
    hosts: optional(hosts, []),
    /** What agents should know before they use the tools, in a few sentences. @default nothing */
    instructions: optional(text()),
    /** The version of your tools, which agents show. @default '1' */
    version: optional(text(), '1'),
  };
}

/** What `createMcpEndpoint()` takes. */
export interface McpEndpointOptions<
  P extends string = string,
  U extends User = User,
  S extends object = object,
  A extends string = string,
> extends Given<ReturnType<typeof mcpEndpointOptions<P, U, S, A>>> {}

/**
 * Creates the middleware that serves actions as tools of the Model Context Protocol (MCP), over Streamable HTTP: for clients of
 * the revision 2026-07-28, and without sessions for those of 2025. Requests for other paths are passed on.
 *
 *     app.use(await createMcpEndpoint({ auth, actions: [renameSchool] }));
 *
 * The endpoint is an API of its own (RFC 8707), which the option `resources` of the server has to name. Agents find the way to a
 * token by themselves. Calling a tool is the same as `POST /actions/...` of the API: validation, permission, idempotency,
 * transaction and limits are those of the action.
 *
 * @throws ConfigError when `resources` does not name the endpoint, `@modelcontextprotocol/server` is not installed, no action or
 * two of the same name are tools, or another option is invalid
 */
export async function createMcpEndpoint<
  P extends string,
  U extends User,
  S extends object = object,
  A extends string = string,
>(options: McpEndpointOptions<P, U, S, A>): Promise<Middleware> {
  const given = readOptions(mcpEndpointOptions<P, U, S, A>(), options);
  const { auth, bodyLimit, instructions, version } = given;
  const { audit, concurrencyLimit, logger, mountPath, requestCounter, resources, storage } =
    internalsOf(auth);
  const { gate, issuer } = auth;
  const mount = { issuer, mountPath };
  const path =
    given.path ?? (given.resource === undefined ? `${mountPath}/mcp` : pathOf(given.resource, mount));
  checkPath('path', path, '/mcp');
  const url: string = given.resource ?? baseUrlOf(mount, path);
  const api = resources.get(url);
  if (!api || url === issuer) throw undeclared(url);
  const actions = indexActions(given.actions, auth);
  requireMembersFor('actions', storage);
  const tools = toolsOf(actions.all);
  const { countRequest, countRuns, isLimited } = createRequestLimits(given.limits, {
    actions: actions.all,
    counter: requestCounter,
  });
  if (isLimited) requireMembersFor('limits', storage);
  const perform = createPerformAction(createAnswerOnce(storage.idempotency, logger), logger);
  const answerAgent = await createProtocol({
    url,
    name: api.name,
    version,
    instructions,
    tools,
    gate,
    logger,
    run: async (request, { action, name }, { id, input, key }) => {
      const { address, principal, requestId } = request;
      const content = ['POST', path, name, id, input];
      return perform({
        ...request,
        action,
        id,
        input,
        inputAt: ['input'],
        key,
        content,
        ran(error, inputWas) {
          const called = { tool: name, action: `${action.type}/${action.name}`, objectId: id };
          const caller = { clientId: principal.client.id, userId: principal.user?.id };
          const readOnly = action.readOnly || inputWas === 'refused' ? true : undefined;
          audit.record(
            { type: 'tool_called', ...caller, ...called, error, readOnly, resource: url },
            { address, requestId },
          );
        },
      });
    },
  });

  async function serve(ctx: ActionContext): Promise<void> {
    const body = ctx.method === 'POST' ? await readMessage(ctx, bodyLimit) : undefined;
    if (ctx.method === 'POST' && body === undefined) return;
    await admit(ctx, { actions, body, countRuns, issuer, tools }, async () => {
      const answer = await answerAgent({
        method: ctx.method,
        address: ctx.ip,
        headers: protocolHeaders(ctx),
        body,
        principal: ctx.state.principal,
        requestId: requestIdOf(ctx),
        signal: callerSignal(ctx),
      });
      if ('refusal' in answer) sendAnswer(ctx, answer.refusal);
      else send(ctx, answer);
    });
  }

  const run = compose<ParameterizedContext<GuardedState<P, U, S>>>([
    limitConcurrency(concurrencyLimit),
    problems({ logger }),
    refuseOtherOriginsAndHosts(given, [url, issuer]),
    auth.guard({ resource: url as A }),
    ...(countRequest ? [countRequest as Middleware<GuardedState<P, U, S>>] : []),
    serve as Middleware<GuardedState<P, U, S>>,
  ]);
  return async function mcp(ctx, next: Next) {
    if (ctx.path !== path) return next();
    return run(ctx, next);
  };
}

function undeclared(url: string): ConfigError {
  return new ConfigError(
    'resource',
    `name the endpoint in the option resources of createAuthServer(), so that tokens can be issued for it: resources: { '${url}': { name: 'Schools for agents', scopes: { ... } } }`,
  );
}

/** Reads the message of a request. `undefined`: it is none, and the request is answered. */
async function readMessage(ctx: ActionContext, limit: number): Promise<unknown> {
  try {
    const body = await readJson(ctx, limit);
    if (body === undefined) refuse(ctx, PARSE_ERROR, 'Send a JSON-RPC message as the body.');
    // Only the revision 2025-03-26 had them, and one request must not run any number of tools.
    else if (Array.isArray(body))
      refuse(ctx, INVALID_REQUEST, 'Send one message for each request: batches are not supported.');
    else return body;
  } catch (error) {
    if (!(error instanceof BodyError && error.status === 400)) throw error;
    refuse(ctx, PARSE_ERROR, error.message);
  }
  return undefined;
}

// JSON-RPC 2.0 section 5.1.
const PARSE_ERROR = -32_700;
const INVALID_REQUEST = -32_600;

function refuse(ctx: ActionContext, code: number, message: string): void {
  ctx.status = 400;
  ctx.set(NOT_STORED);
  ctx.body = { jsonrpc: '2.0', error: { code, message }, id: null };
}

/**
 * Passes the call of a tool on, unless it is over a limit, or lacks a permission that another token of the same user or client
 * would have: then it answers 429, or 403 with a challenge, because clients act on an HTTP response and not on a result of the
 * tool.
 */
async function admit(
  ctx: ActionContext,
  {
    actions,
    body,
    countRuns,
    issuer,
    tools,
  }: {
    readonly actions: ActionIndex;
    readonly body: unknown;
    readonly countRuns: RequestLimiter['countRuns'];
    readonly issuer: string;
    readonly tools: ReadonlyMap<string, Tool>;
  },
  next: Next,
): Promise<unknown> {
  const called = tools.get(toolNameIn(body) ?? '')?.action;
  const { principal } = ctx.state;
  if (!called) return next();
  if (principal.permissions.has(called.permission)) {
    const refusal = await countRuns(ctx, called, 1);
    return refusal ? sendProblem(ctx, refusal) : next();
  }
  if (insufficientScope(principal, [called.permission], issuer) === undefined) return next();
  return actions.find(called.type, called.name)!.requirePermission(ctx, next);
}

function toolNameIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { method, params } = body as { method?: unknown; params?: { name?: unknown } | null };
  return method === 'tools/call' && typeof params?.name === 'string' ? params.name : undefined;
}

/** The header fields that the protocol reads. The SDK gets no credentials. */
function protocolHeaders({ headers }: ActionContext): Headers {
  const fields = Object.entries(headers).filter(([name]) => /^(?:accept|content-type|mcp-.*)$/.test(name));
  return new Headers(fields.map(([name, value]) => [name, String(value)]));
}

const NOT_STORED = { 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' };

function send(
  ctx: ActionContext,
  { body, headers, status }: { readonly status: number; readonly headers: Headers; readonly body: string },
): void {
  ctx.body = body === '' ? null : body;
  ctx.status = status;
  for (const name of ['content-type', 'allow']) {
    const value = headers.get(name);
    if (value !== null) ctx.set(name, value);
  }
  ctx.set(NOT_STORED);
}
