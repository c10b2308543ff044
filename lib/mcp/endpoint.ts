import type { Context, Middleware, Next, ParameterizedContext } from 'koa';
import compose from 'koa-compose';

import { reauthenticatorOf } from '../access/guard.ts';
import { readmit } from '../access/reauthentication.ts';
import type { ActionContext, ReauthenticatorOf } from '../api/actions/answer.ts';
import { actionList, indexActions } from '../api/actions/action-index.ts';
import { createPerformAction } from '../api/actions/perform-action.ts';
import { createAnswerOnce } from '../api/answer-once.ts';
import { LIMITS, requestLimits } from '../api/limits.ts';
import { baseUrlOf, checkPath, pathOf } from '../api/paths.ts';
import { createRequestLimits } from '../api/request-limits.ts';
import type { ApiAuth } from '../api/router.ts';
import type { GuardedState, User } from '../contracts/index.ts';
import { partsOf } from '../contracts/server-parts.ts';
import { beginStackAt, BodyError, ConfigError } from '../errors.ts';
import { readJson } from '../http/body.ts';
import { createAllowOrigins } from '../http/cors.ts';
import { admitRequests } from '../limits/concurrency-limit.ts';
import { NOT_STORED, problems, sendProblem } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';
import { serveOnly } from '../http/served-paths.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { Given } from '../options/declare.ts';
import { origins, text } from '../options/values.ts';
import { hosts, refuseOtherOriginsAndHosts } from './origins-and-hosts.ts';
import { createProtocol } from './protocol.ts';
import { createCallTool, toolsOf } from './tools.ts';

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
    maxBodyBytes: LIMITS.maxBodyBytes,
    /**
     * The origins of web pages that may send requests and read the answers (CORS), such as `https://app.example`.
     * @default that of the endpoint
     */
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
  const { auth, maxBodyBytes, instructions, version } = given;
  const {
    admitsAgents,
    audit,
    concurrencyLimit,
    limitCallers,
    logger,
    mountPath,
    observers,
    resources,
    storage,
    tools: toolsOfApis,
    trace,
  } = partsOf(auth);
  const { issuer } = auth;
  const mount = { issuer, mountPath };
  const path =
    given.path ?? (given.resource === undefined ? `${mountPath}/mcp` : pathOf(given.resource, mount));
  checkPath('path', path, '/mcp');
  const url: string = given.resource ?? baseUrlOf(mount, path);
  const api = resources.get(url);
  if (!api || url === issuer) {
    throw new ConfigError(
      'resource',
      `name the endpoint in the option resources of createAuthServer(), so that tokens can be issued for it: resources: { '${url}': { name: 'Schools for agents', scopes: { ... } } }`,
    );
  }
  const actions = indexActions(given.actions, auth);
  const tools = toolsOf(actions.all);
  toolsOfApis.set(
    url,
    Array.from(tools.values(), ({ action }) => action),
  );
  const { countRequest, countRuns } = createRequestLimits(given.limits, {
    actions: actions.all,
    limitCallers,
  });
  const perform = createPerformAction(createAnswerOnce(storage.idempotency, logger), logger);
  const callTool = createCallTool({ audit, logger, path, perform, resource: url, trace });
  const guard = auth.guard({ resource: url as A });
  const reauthenticator = reauthenticatorOf(guard) as ReauthenticatorOf;
  const { name } = api;
  const answerAgent = await createProtocol({ url, name, version, instructions, tools, logger, callTool });
  if (!admitsAgents) {
    logger.warn(
      { path, remedy: 'features: [agents()]' },
      'no agent can connect unless somebody registers it',
    );
  }

  /** The problem of a call over a limit, or without a permission that another token of the same user or client would have. */
  async function refusalOf(ctx: ActionContext, toolName = ''): Promise<Problem | undefined> {
    const action = tools.get(toolName)?.action;
    if (!action) return undefined;
    const missing = action.refusalOf(ctx.state.principal);
    if (!missing) return countRuns(ctx, action, 1);
    if (missing.code !== 'insufficient_scope') return undefined;
    observers.guarded?.({ admitted: false, code: missing.code });
    return missing;
  }

  // Problems are responses and not results of the tool, on which clients would not act.
  async function serve(ctx: ActionContext): Promise<unknown> {
    const reauthenticate = reauthenticator(ctx);
    const body = ctx.method === 'POST' ? await readMessage(ctx, maxBodyBytes) : undefined;
    if (ctx.method === 'POST' && body === undefined) return undefined;
    const refusal = (await readmit(ctx, reauthenticate)) ?? (await refusalOf(ctx, toolNameIn(body)));
    return refusal ? sendProblem(ctx, refusal) : answerAgent(ctx, body, reauthenticate);
  }

  const allowed = given.origins ?? [new URL(url).origin];
  const run = compose<ParameterizedContext<GuardedState<P, U, S>>>([
    createAllowOrigins(new Set(allowed), 'GET, POST, DELETE'),
    admitRequests(concurrencyLimit),
    problems({ logger }),
    refuseOtherOriginsAndHosts({ hosts: given.hosts, origins: allowed }, [url, issuer]),
    guard,
    ...(countRequest ? [countRequest as Middleware<GuardedState<P, U, S>>] : []),
    serve as Middleware<GuardedState<P, U, S>>,
  ]);
  async function mcp(ctx: Context, next: Next): Promise<unknown> {
    // Users add a slash to the URL that they give an agent.
    if (ctx.path !== path && ctx.path !== `${path}/`) return next();
    return trace('gatehouse.mcp', async () => run(ctx, next), path);
  }
  return serveOnly(mcp, (asked) => asked.startsWith(path));
}
beginStackAt(createMcpEndpoint);

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

function toolNameIn(body: unknown): string | undefined {
  if (typeof body !== 'object' || body === null) return undefined;
  const { method, params } = body as { method?: unknown; params?: { name?: unknown } | null };
  return method === 'tools/call' && typeof params?.name === 'string' ? params.name : undefined;
}
