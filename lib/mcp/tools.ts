import type { Reauthenticate } from '../access/reauthentication.ts';
import { callerSignal, dataIn, problemAnswer } from '../api/actions/answer.ts';
import type { ActionContext, Answer } from '../api/actions/answer.ts';
import type { ApiAction } from '../api/actions/action-index.ts';
import type { Action } from '../api/actions/define-action.ts';
import { inputInvalid, isObjectId, OBJECT_ID_RULE } from '../api/actions/perform-action.ts';
import type { ActionRequest, InputError, PerformAction } from '../api/actions/perform-action.ts';
import { mapReferences, needsInput, OBJECT_ID_SCHEMA } from '../api/actions/schemas.ts';
import type { JsonSchema } from '../api/actions/schemas.ts';
import { isIdempotencyKey, KEY_FORM } from '../api/answer-once.ts';
import type { AuditLog, Logger, Trace } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { explainError } from '../http/problem.ts';
import { requestIdOf } from '../http/request.ts';

/** An action as a tool. */
export interface Tool {
  readonly name: string;
  readonly action: ApiAction;
  /** What `tools/list` says of it. */
  readonly definition: ReturnType<typeof definitionOf>;
}

/**
 * The actions that are tools, in their order.
 *
 * @throws ConfigError when there are none, or two have the same name
 */
export function toolsOf(actions: readonly ApiAction[]): ReadonlyMap<string, Tool> {
  const tools = new Map<string, Tool>();
  for (const action of actions) {
    const { mcp: name } = action;
    if (name === undefined) continue;
    const other = tools.get(name)?.action;
    if (other) {
      const both = [other, action].map(({ type, name: own }) => `${type}/${own}`);
      throw new ConfigError(
        'actions',
        `${both.join(' and ')} are both the tool ${name}: give one another name, such as mcp: '${action.type}_${name}'`,
      );
    }
    tools.set(name, { name, action, definition: definitionOf(name, action) });
  }
  if (tools.size === 0) {
    throw new ConfigError(
      'actions',
      'none of them is a tool: set mcp: true in the definitions of those that agents may run',
    );
  }
  return tools;
}

/** A tool as MCP describes it. */
function definitionOf(name: string, action: Action) {
  const { description, destructive, idempotent, outputSchema, readOnly, title } = action;
  return {
    name,
    title,
    description: description ?? title,
    inputSchema: argumentsSchema(action),
    outputSchema,
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      // An action may send mail or call other services.
      openWorldHint: true,
    },
  };
}

/** The schema of a tool's arguments. Its root is an object, whatever the action's input is. */
function argumentsSchema(action: Action): JsonSchema & { readonly type: 'object' } {
  const { level, readOnly, type } = action;
  const { $schema, $defs, ...input } = action.inputSchema;
  const id = { ...OBJECT_ID_SCHEMA, description: `The id of the ${type}.` };
  const idempotencyKey = {
    ...OBJECT_ID_SCHEMA,
    description:
      'A new UUID for each change. Send the same one when you repeat a call whose result you did not get: it is then done once.',
  };
  return {
    ...($schema === undefined ? {} : { $schema }),
    type: 'object',
    properties: {
      ...(level === 'instance' ? { id } : {}),
      input: relocate(input),
      ...(readOnly ? {} : { idempotencyKey }),
    },
    required: [...(level === 'instance' ? ['id'] : []), ...(needsInput(action.inputSchema) ? ['input'] : [])],
    additionalProperties: false,
    ...($defs === undefined ? {} : { $defs: relocate($defs) }),
  };
}

// Many clients find definitions at the root only, so these stay there.
function relocate(schema: unknown): unknown {
  return mapReferences(schema, (reference) =>
    /^#(?!\/\$defs\/)/.test(reference) ? `#/properties/input${reference.slice(1)}` : reference,
  );
}

/** Who calls a tool. */
export interface ToolCaller {
  readonly ctx: ActionContext;
  readonly reauthenticate: Reauthenticate;
}

/** Calls a tool for the caller of a request. */
export type CallTool = (
  caller: ToolCaller,
  tool: Tool,
  given: Readonly<Record<string, unknown>>,
) => Promise<{
  readonly result: ToolResult;
  /** What is sent as the HTTP response instead, because agents act on its status and its header fields. */
  readonly refusal?: Answer | undefined;
}>;

// A type, because the SDK's results have an index signature.
type ToolResult = {
  content: { type: 'text'; text: string }[];
  structuredContent?: unknown;
  isError?: true;
};

/**
 * @param path - of the endpoint
 * @param resource - the endpoint as tokens name it
 */
export function createCallTool({
  audit,
  logger,
  path,
  perform,
  resource,
  trace,
}: {
  readonly audit: Pick<AuditLog, 'record'>;
  readonly logger: Logger;
  readonly path: string;
  readonly perform: PerformAction;
  readonly resource: string;
  readonly trace: Trace;
}): CallTool {
  return async function callTool({ ctx, reauthenticate }, tool, given) {
    const { action, name } = tool;
    const { principal } = ctx.state;
    const clientId = principal.client?.id;
    const tokenId = principal.token?.id;
    const requestId = requestIdOf(ctx);
    const refused = action.refusalOf(principal);
    if (refused) return { result: failure([refused.detail]) };
    const read = readArguments(tool, given);
    if ('errors' in read) return { result: resultOf(problemAnswer(inputInvalid(read.errors))) };
    const { id, input } = read;
    const address = ctx.ip;
    const call: ActionRequest = {
      ...read,
      action,
      inputAt: ['input'],
      content: ['POST', path, name, id, input],
      principal,
      reauthenticate,
      requestId,
      signal: callerSignal(ctx),
      ran(error, inputWas) {
        const called = { tool: name, action: `${action.type}/${action.name}`, objectId: id };
        const caller = { clientId, tokenId, userId: principal.user?.id };
        const type = action.readOnly || inputWas === 'refused' ? 'tool_read' : 'tool_called';
        audit.record({ type, ...caller, ...called, error, resource }, { address, requestId });
      },
    };
    const answer = await trace('gatehouse.tool', async (span) => {
      span?.set({ 'gen_ai.tool.name': name, 'oauth.client_id': clientId });
      return perform(call);
    }).catch((error: unknown) =>
      problemAnswer(explainError(error, logger, { request_id: requestId, tool: name })),
    );
    return { result: resultOf(answer), refusal: isForHttp(answer) ? answer : undefined };
  };
}

/** Reads the arguments of a call. The action's own input is not checked yet. */
function readArguments(
  { action, definition }: Tool,
  given: Readonly<Record<string, unknown>>,
): Pick<ActionRequest, 'id' | 'input' | 'key'> | { readonly errors: readonly InputError[] } {
  const names = Object.keys(definition.inputSchema['properties'] as object);
  const { id, input = {}, idempotencyKey: key } = given;
  const errors = Object.keys(given)
    .filter((name) => !names.includes(name))
    .map((name) => ({
      pointer: `#/${name}`,
      message: `There is no such argument; the arguments are ${names.join(', ')}.`,
    }));
  if (action.level === 'instance' && !isObjectId(id))
    errors.push({ pointer: '#/id', message: OBJECT_ID_RULE });
  if (key !== undefined && !isIdempotencyKey(key))
    errors.push({ pointer: '#/idempotencyKey', message: `Send ${KEY_FORM}.` });
  if (errors.length > 0) return { errors };
  return {
    id: action.level === 'instance' ? (id as string) : undefined,
    input,
    key: key as string | undefined,
  };
}

/** A step-up, a limit of requests and a database that is away: as a result of the tool, no client would act on them. */
function isForHttp({ headers = {}, status }: Answer): boolean {
  return status === 429 || 'Retry-After' in headers || 'WWW-Authenticate' in headers;
}

function resultOf({ body, status }: Answer): ToolResult {
  const document = JSON.parse(body) as { readonly data?: unknown } & ProblemDocument;
  if (status < 400) {
    return { content: [{ type: 'text', text: dataIn(body) }], structuredContent: document.data };
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
