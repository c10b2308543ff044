/** The only door to the SDK of the Model Context Protocol. */
import type { JSONRPCMessage, JSONRPCRequest, MessageClassification } from '@modelcontextprotocol/server';

import type { Reauthenticate } from '../access/reauthentication.ts';
import { sendAnswer } from '../api/actions/answer.ts';
import type { ApiAction } from '../api/actions/action-index.ts';
import type { ActionContext, Answer } from '../api/actions/answer.ts';
import type { Logger, Milliseconds, Principal } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { NOT_STORED } from '../http/problem.ts';
import type { CallTool, Tool, ToolCaller } from './tools.ts';

export interface ProtocolOptions {
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly logger: Logger;
  readonly callTool: CallTool;
}

/** Answers a message, the parsed body of a request. */
export type AnswerAgent = (
  ctx: ActionContext,
  message: unknown,
  reauthenticate: Reauthenticate,
) => Promise<void>;

/** How long a client may keep the list of tools, which depends on permissions that may change. */
const LIST_LIFETIME: Milliseconds = 60_000;

/**
 * Serves the tools in all revisions of the protocol that the SDK knows. Nothing is stored between messages.
 */
export async function createProtocol({
  callTool,
  instructions,
  logger,
  name,
  tools,
  url,
  version,
}: ProtocolOptions): Promise<AnswerAgent> {
  const sdk = await loadSdk('createMcpEndpoint()');
  const { createMcpHandler, PerRequestHTTPServerTransport, ProtocolError, ProtocolErrorCode, Server } = sdk;
  const exchanges = new WeakMap<Request, AgentExchange>();
  const handler = createMcpHandler(({ requestInfo }) => serverFor(exchanges.get(requestInfo!)!), {
    // Refused messages and faults of the protocol; those of actions are logged where they are explained.
    onerror: (err) => logger.debug({ err }, 'mcp message refused'),
  });

  /** @param revision - of 2026 or later, when the exchange does not come from the handler, which sets it itself */
  function serverFor(exchange: AgentExchange, { revision }: Partial<MessageClassification> = {}) {
    const { ctx } = exchange;
    const server = new Server(
      { name, version },
      {
        ...(revision === undefined ? {} : { supportedProtocolVersions: [revision] }),
        // Not `listChanged`: the list changes with permissions, of which nobody is told, and a stream of changes would stay open.
        capabilities: { tools: {} },
        ...(instructions === undefined ? {} : { instructions }),
        cacheHints: { 'tools/list': { ttlMs: LIST_LIFETIME, cacheScope: 'private' } },
      },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: [...tools.values()]
        .filter(({ action }) => isListed(action, ctx.state.principal))
        .map(({ definition }) => definition),
    }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const tool = tools.get(params.name);
      if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
      exchange.isCalled = true;
      const { refusal, result } = await callTool(exchange, tool, params.arguments ?? {});
      exchange.refusal = refusal;
      return server.projectCallToolResult(result, tool.definition.outputSchema);
    });
    return server;
  }

  /**
   * Answers a call of a tool as the handler does, but without Web requests, responses and streams, which cost more than most actions.
   * `false`: nothing was called, so the handler can refuse the message.
   */
  async function answerCall(
    exchange: AgentExchange,
    { classification, message }: AdmittedCall,
  ): Promise<boolean> {
    const { ctx } = exchange;
    const transport = new PerRequestHTTPServerTransport({ classification });
    const answered = Promise.withResolvers<JSONRPCMessage>();
    transport.send = async (answer) => answered.resolve(answer);
    const server = serverFor(exchange, classification);
    await server.connect(transport);
    if (server.getNegotiatedProtocolVersion() !== classification.revision) return false;
    transport.onmessage?.(message, { classification });
    const answer = JSON.stringify(await answered.promise);
    if (!exchange.isCalled) return false;
    if (exchange.refusal) sendAnswer(ctx, exchange.refusal);
    else if (classification.era === 'modern') sendText(ctx, answer, 'application/json');
    else sendText(ctx, `event: message\ndata: ${answer}\n\n`, 'text/event-stream');
    return true;
  }

  return async function answerAgent(ctx, message, reauthenticate) {
    const exchange: AgentExchange = { ctx, reauthenticate, isCalled: false, refusal: undefined };
    const call = admittedCall(sdk, ctx, message);
    if (call && (await answerCall(exchange, call))) return;
    const request = new Request(url, { method: ctx.method, headers: protocolHeaders(ctx) });
    exchanges.set(request, exchange);
    const response = await handler.fetch(request, { parsedBody: message });
    // Read in any case: the answer to a client of 2025 is a stream, which ends with the result.
    const text = await response.text();
    if (exchange.refusal) return sendAnswer(ctx, exchange.refusal);
    sendText(ctx, text, response.headers.get('content-type'));
    ctx.status = response.status;
    const allow = response.headers.get('allow');
    if (allow !== null) ctx.set('allow', allow);
  };
}

/**
 * Whether an agent may know of a tool. One that only the scopes of its token exclude is listed: the agent calls it, and then asks the user
 * for the scope. A personal access token has no client, which could ask.
 */
function isListed({ refusalOf }: ApiAction, principal: Principal): boolean {
  const refusal = refusalOf(principal);
  return !refusal || (principal.client !== undefined && refusal.code === 'insufficient_scope');
}

function sendText(ctx: ActionContext, text: string, type: string | null): void {
  ctx.body = text === '' ? null : text;
  if (type !== null) ctx.set('content-type', type);
  ctx.set(NOT_STORED);
}

/** A call of a tool that the handler would pass on to the server. */
interface AdmittedCall {
  readonly message: JSONRPCRequest;
  readonly classification: MessageClassification;
}

/**
 * Checks a call as the handler does before it makes a server, which checks the rest. `undefined`: the message is no call of a tool, or
 * the handler may refuse it. Not with the classification of the SDK, which compares a message with those that clients never send.
 */
function admittedCall(
  { isJSONRPCRequest, PROTOCOL_VERSION_META_KEY, SUPPORTED_PROTOCOL_VERSIONS }: Sdk,
  ctx: ActionContext,
  message: unknown,
): AdmittedCall | undefined {
  const { headers, method } = ctx;
  if (method !== 'POST' || !isJSONRPCRequest(message) || message.method !== 'tools/call') return undefined;
  const { 'mcp-protocol-version': revision } = headers;
  const { _meta: meta, name } = message.params ?? {};
  if (meta && PROTOCOL_VERSION_META_KEY in meta) {
    const isNamed = headers['mcp-method'] === message.method && headers['mcp-name'] === name;
    if (!isNamed || typeof revision !== 'string' || revision !== meta[PROTOCOL_VERSION_META_KEY])
      return undefined;
    return { message, classification: { era: 'modern', revision } };
  }
  const isKnown = revision === undefined || SUPPORTED_PROTOCOL_VERSIONS.includes(String(revision));
  return acceptsBoth(ctx) && isKnown ? { message, classification: { era: 'legacy' } } : undefined;
}

/** A request of an agent. */
interface AgentExchange extends ToolCaller {
  /** Whether a tool was called, which must not happen twice. */
  isCalled: boolean;
  /** The answer that is sent instead of the one of the protocol. */
  refusal: Answer | undefined;
}

type Sdk = typeof import('@modelcontextprotocol/server');

/** @throws ConfigError, for its caller, when the SDK is not installed */
export async function loadSdk(caller: string): Promise<Sdk> {
  try {
    return await import('@modelcontextprotocol/server');
  } catch (error) {
    throw new ConfigError(
      caller,
      'install @modelcontextprotocol/server: npm install @modelcontextprotocol/server',
      { cause: error },
    );
  }
}

const BOTH = 'application/json, text/event-stream';

/** Whether a client accepts both forms of an answer, also by a wildcard or without the field (RFC 9110 section 12.5.1), which the SDK refuses. */
function acceptsBoth(ctx: ActionContext): boolean {
  return BOTH.split(', ').every((type) => ctx.accepts(type) !== false);
}

/** The header fields that the protocol reads. The SDK gets no credentials. */
function protocolHeaders(ctx: ActionContext): Headers {
  const fields = Object.entries(ctx.headers).filter(([name]) =>
    /^(?:accept|content-type|mcp-.*)$/.test(name),
  );
  const headers = new Headers(fields.map(([name, value]) => [name, String(value)]));
  if (acceptsBoth(ctx)) headers.set('accept', BOTH);
  return headers;
}
