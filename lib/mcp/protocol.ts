/** The only door to the SDK of the Model Context Protocol. */
import { problemAnswer } from '../api/actions/answer.ts';
import type { Answer } from '../api/actions/answer.ts';
import type { ActionRequest, InputError } from '../api/actions/perform-action.ts';
import { inputInvalid } from '../api/actions/perform-action.ts';
import type { Gate, Logger } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { explainError } from '../http/problem.ts';
import { readArguments } from './tools.ts';
import type { Tool, ToolArguments } from './tools.ts';

/** A message of an agent, and who sent it. */
export interface AgentRequest extends Pick<ActionRequest, 'principal' | 'requestId' | 'signal'> {
  readonly method: string;
  /** The address that it came from. */
  readonly address: string;
  /** Without credentials. */
  readonly headers: Headers;
  /** The parsed body. */
  readonly body: unknown;
}

/** How a message was answered. */
export interface AgentAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** Answers the messages of agents. */
export type AnswerAgent = (request: AgentRequest) => Promise<AgentAnswer | { readonly refusal: Answer }>;

export interface ProtocolOptions {
  readonly url: string;
  readonly name: string;
  readonly version: string;
  readonly instructions: string | undefined;
  readonly tools: ReadonlyMap<string, Tool>;
  readonly gate: Pick<Gate, 'permissions'>;
  readonly logger: Logger;
  /** Runs the action of a tool for a caller with its permission. */
  readonly run: (request: AgentRequest, tool: Tool, given: ToolArguments) => Promise<Answer>;
}

/** In milliseconds: how long a client may keep the list of tools, which depends on permissions that may change. */
const LIST_LIFETIME = 60_000;

/** Serves the tools in all revisions of the protocol that the SDK knows. Nothing is stored between messages. */
export async function createProtocol(options: ProtocolOptions): Promise<AnswerAgent> {
  const { gate, instructions, logger, name, run, tools, url, version } = options;
  const { createMcpHandler, ProtocolError, ProtocolErrorCode, Server } = await loadSdk();
  const exchanges = new WeakMap<Request, Exchange>();
  const handler = createMcpHandler(({ requestInfo }) => serverFor(exchanges.get(requestInfo!)!), {
    // Refused messages and faults of the protocol; those of actions are logged where they are explained.
    onerror: (err) => logger.debug({ err }, 'mcp message refused'),
  });

  function serverFor(exchange: Exchange): InstanceType<typeof Server> {
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
        .filter(({ action }) => exchange.request.principal.permissions.has(action.permission))
        .map(({ definition }) => definition),
    }));
    server.setRequestHandler('tools/call', async ({ params }) => {
      const tool = tools.get(params.name);
      if (!tool) throw new ProtocolError(ProtocolErrorCode.InvalidParams, `There is no tool ${params.name}.`);
      const result = await call(exchange, tool, params.arguments ?? {});
      return server.projectCallToolResult(result, tool.definition.outputSchema);
    });
    return server;
  }

  async function call(exchange: Exchange, tool: Tool, given: Record<string, unknown>): Promise<ToolResult> {
    const { principal, requestId } = exchange.request;
    const { permission } = tool.action;
    if (!principal.permissions.has(permission)) return failure([gate.permissions[permission]!.message]);
    const found = readArguments(tool, given);
    if ('errors' in found) return resultOf(problemAnswer(inputInvalid(found.errors)));
    const answer = await run(exchange.request, tool, found).catch((error: unknown) =>
      problemAnswer(explainError(error, logger, { request_id: requestId, tool: tool.name })),
    );
    if (isForHttp(answer)) exchange.refusal = answer;
    return resultOf(answer);
  }

  return async function answerAgent(request) {
    const { body, headers, method } = request;
    const message = new Request(url, { method, headers });
    const exchange: Exchange = { request, refusal: undefined };
    exchanges.set(message, exchange);
    const response = await handler.fetch(message, { parsedBody: body });
    // Read in any case: the answer to a client of 2025 is a stream, which ends with the result.
    const text = await response.text();
    if (exchange.refusal) return { refusal: exchange.refusal };
    return { status: response.status, headers: response.headers, body: text };
  };
}

interface Exchange {
  readonly request: AgentRequest;
  /** A refusal that is sent as an HTTP response, because agents act on its status and its header fields. */
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

/** A step-up, a limit of requests and a database that is away: as a result of the tool, no client would act on them. */
function isForHttp({ headers = {}, status }: Answer): boolean {
  return status === 429 || 'Retry-After' in headers || 'WWW-Authenticate' in headers;
}

// A type, because the SDK's results have an index signature.
type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: unknown;
  isError?: true;
};

function resultOf({ body, status }: Answer): ToolResult {
  const document = JSON.parse(body) as { readonly data?: unknown } & ProblemDocument;
  if (status < 400) {
    const { data } = document;
    return { content: [{ type: 'text', text: JSON.stringify(data) }], structuredContent: data };
  }
  // An error that the agent reads and can correct.
  const { code, detail, errors = [], reference } = document;
  return failure([
    code === 'input_invalid' ? 'The arguments do not match the input schema of the tool:' : String(detail),
    ...errors.map(({ message, pointer }) => `${pointer}: ${message}`),
    ...(reference === undefined ? [] : [`Reference: ${reference}`]),
  ]);
}

interface ProblemDocument {
  readonly code?: string;
  readonly detail?: string;
  readonly errors?: readonly InputError[];
  readonly reference?: string;
}

function failure(lines: readonly string[]): ToolResult {
  return { content: [{ type: 'text', text: lines.join('\n') }], isError: true };
}
