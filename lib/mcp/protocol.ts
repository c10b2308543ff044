/** The only door to the SDK of the Model Context Protocol. */
import { sendAnswer } from '../api/actions/answer.ts';
import type { ActionContext, Answer } from '../api/actions/answer.ts';
import type { Logger } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { NOT_STORED } from '../http/problem.ts';
import type { CallTool, Tool } from './tools.ts';

export interface ProtocolOptions {
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly logger: Logger;
  readonly callTool: CallTool;
}

/** In milliseconds: how long a client may keep the list of tools, which depends on permissions that may change. */
const LIST_LIFETIME = 60_000;

/**
 * Serves the tools in all revisions of the protocol that the SDK knows: makes the function that answers a message, the parsed body of
 * a request. Nothing is stored between messages.
 */
export async function createProtocol({
  callTool,
  instructions,
  logger,
  name,
  tools,
  url,
  version,
}: ProtocolOptions): Promise<(ctx: ActionContext, message: unknown) => Promise<void>> {
  const { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } = await loadSdk();
  const exchanges = new WeakMap<Request, AgentExchange>();
  const handler = createMcpHandler(({ requestInfo }) => serverFor(exchanges.get(requestInfo!)!), {
    // Refused messages and faults of the protocol; those of actions are logged where they are explained.
    onerror: (err) => logger.debug({ err }, 'mcp message refused'),
  });

  function serverFor(exchange: AgentExchange): InstanceType<typeof Server> {
    const { ctx } = exchange;
    const server = new Server(
      { name, version },
      {
        // Not `listChanged`: the list changes with permissions, of which nobody is told, and a stream of changes would stay open.
        capabilities: { tools: {} },
        ...(instructions === undefined ? {} : { instructions }),
        cacheHints: { 'tools/list': { ttlMs: LIST_LIFETIME, cacheScope: 'private' } },
      },
    );
    server.setRequestHandler('tools/list', () => ({
      tools: [...tools.values()]
        .filter(({ action }) => ctx.state.principal.permissions.has(action.permission))
        .map(({ definition }) => definition),
    }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const tool = tools.get(params.name);
      if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
      const { refusal, result } = await callTool(ctx, tool, params.arguments ?? {});
      exchange.refusal = refusal;
      return server.projectCallToolResult(result, tool.definition.outputSchema);
    });
    return server;
  }

  return async function answerAgent(ctx, message) {
    const request = new Request(url, { method: ctx.method, headers: protocolHeaders(ctx) });
    const exchange: AgentExchange = { ctx, refusal: undefined };
    exchanges.set(request, exchange);
    const response = await handler.fetch(request, { parsedBody: message });
    // Read in any case: the answer to a client of 2025 is a stream, which ends with the result.
    const text = await response.text();
    if (exchange.refusal) return sendAnswer(ctx, exchange.refusal);
    ctx.body = text === '' ? null : text;
    ctx.status = response.status;
    for (const field of ['content-type', 'allow']) {
      const value = response.headers.get(field);
      if (value !== null) ctx.set(field, value);
    }
    ctx.set(NOT_STORED);
  };
}

/** A request of an agent, and the answer that is sent instead of the one of the protocol. */
interface AgentExchange {
  readonly ctx: ActionContext;
  refusal: Answer | undefined;
}

async function loadSdk(): Promise<typeof import('@modelcontextprotocol/server')> {
  try {
    return await import('@modelcontextprotocol/server');
  } catch (error) {
    throw new ConfigError(
      'createMcpEndpoint()',
      'install @modelcontextprotocol/server: npm install @modelcontextprotocol/server',
      { cause: error },
    );
  }
}

/** The header fields that the protocol reads. The SDK gets no credentials. */
function protocolHeaders({ headers }: ActionContext): Headers {
  const fields = Object.entries(headers).filter(([name]) => /^(?:accept|content-type|mcp-.*)$/.test(name));
  return new Headers(fields.map(([name, value]) => [name, String(value)]));
}
