import type { StandardSchemaV1 } from '@standard-schema/spec';

import { readmit } from '../../access/reauthentication.ts';
import type { Reauthenticate } from '../../access/reauthentication.ts';
import { objectNotFound } from '../../access/requires.ts';
import type { Logger, Principal } from '../../contracts/index.ts';
import { readJson } from '../../http/body.ts';
import { explainError, sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request.ts';
import { repeatableRequest } from '../answer-once.ts';
import type { AnswerOnce, RepeatableRequest } from '../answer-once.ts';
import type { RequestLimiter } from '../request-limits.ts';
import type { ActionHandler, ApiAction } from './action-index.ts';
import { dataAnswer, problemAnswer, sendAnswer } from './answer.ts';
import type { ActionContext, Answer, ReauthenticatorOf } from './answer.ts';
import type { Action, ActionCall } from './define-action.ts';
import type { ActionSchema } from './schemas.ts';

/** A request to run an action, of a user or a client that has its permission. */
export interface ActionRequest extends RepeatableRequest {
  readonly action: ApiAction;
  readonly reauthenticate: Reauthenticate;
  /** The id of the object, for an action of the level `instance`. */
  readonly id: string | undefined;
  /** The input, which is not checked yet. */
  readonly input: unknown;
  /** The place of the input in the caller's message, for mistakes in it. @default the root of the message */
  readonly inputAt?: InputPath;
  readonly requestId: string;
  /** Called when the action was run, or its input was refused, with the code of the problem. Not called for a stored answer. */
  readonly ran?: (error: string | undefined, input: 'accepted' | 'refused') => void;
}

/**
 * Runs an action once, whichever interface it was requested through: the input is checked, and a repeated request gets the stored
 * answer. Never throws for what the caller or the action has done.
 *
 * @throws StorageError when a request with a key cannot be stored; nothing was run
 */
export type PerformAction = (request: ActionRequest) => Promise<Answer>;

export function createPerformAction(answerOnce: AnswerOnce, logger: Logger): PerformAction {
  return async function performAction(request) {
    const { action, id, input, inputAt, ran, reauthenticate, requestId } = request;
    const { database } = action;
    return answerOnce(request, async ({ signal }) => {
      const checked = await checkInput(action.input, input, inputAt);
      if ('errors' in checked) {
        const problem = inputInvalid(checked.errors);
        ran?.(problem.code, 'refused');
        return { answer: problemAnswer(problem), replay: false };
      }
      const call = { input: checked.value, id, reauthenticate, database, dryRun: false, signal };
      const outcome = await runAction(action, call, { logger, requestId });
      if ('json' in outcome) {
        ran?.(undefined, 'accepted');
        return { answer: dataAnswer(outcome.json), replay: true };
      }
      const { code, headers = {}, status } = outcome.problem;
      ran?.(code, 'accepted');
      // The next attempt may succeed after a failure, and with another token after a 403 with a challenge.
      const replay = status < 500 && status !== 429 && !('WWW-Authenticate' in headers);
      return { answer: problemAnswer(outcome.problem), replay };
    });
  };
}

/**
 * Answers `POST /actions/{type}/{action}`, for actions of the level `collection`, and `POST /actions/{type}/{id}/{action}`, for those
 * of the level `instance`.
 */
export function executeAction({
  perform,
  countRuns,
  receive,
}: {
  readonly perform: PerformAction;
  readonly countRuns: RequestLimiter['countRuns'];
  readonly receive: ReceiveBody;
}): ActionHandler {
  return async function execute(ctx, action) {
    const { id } = ctx['params'] as { id?: string };
    const refusal = wrongPath(action, id) ?? (await countRuns(ctx, action, 1));
    if (refusal) return sendProblem(ctx, refusal);
    const received = await receive(ctx, action);
    if ('refusal' in received) return sendProblem(ctx, received.refusal);
    const { body: input = {}, reauthenticate } = received;
    const request = { ...repeatableRequest(ctx, input), reauthenticate, requestId: requestIdOf(ctx) };
    return sendAnswer(ctx, await perform({ ...request, action, id, input }));
  };
}

/**
 * Receives the body of a request to run an action. The permission of the caller is checked again when the body has arrived, because the
 * caller may send it slowly.
 */
export type ReceiveBody = (
  ctx: ActionContext,
  action: ApiAction,
) => Promise<
  { readonly body: unknown; readonly reauthenticate: Reauthenticate } | { readonly refusal: Problem }
>;

/** @param maxBodyBytes - in bytes */
export function createReceiveBody(maxBodyBytes: number, reauthenticatorOf: ReauthenticatorOf): ReceiveBody {
  return async function receiveBody(ctx, action) {
    const reauthenticate = reauthenticatorOf(ctx);
    const body = await readJson(ctx, maxBodyBytes);
    const refusal = (await readmit(ctx, reauthenticate)) ?? action.refusalOf(ctx.state.principal);
    return refusal ? { refusal } : { body, reauthenticate };
  };
}

function wrongPath({ level, name }: Action, id: string | undefined): Problem | undefined {
  if (level === 'collection') {
    if (id === undefined) return undefined;
    const detail = `${name} takes no id: leave it out of the path.`;
    return { status: 404, code: 'action_not_found', detail };
  }
  if (id === undefined) {
    return {
      status: 405,
      code: 'method_not_allowed',
      detail: `${name} needs the id of an object: put it before the action's name.`,
      headers: { Allow: 'HEAD, GET, OPTIONS' },
    };
  }
  return isObjectId(id) ? undefined : { status: 404, code: 'id_invalid', detail: OBJECT_ID_RULE };
}

/** A mistake in one part of a request body. */
export interface InputError {
  /** A JSON Pointer to the part, as a URI fragment (RFC 6901 section 6), such as `#/name`. */
  readonly pointer: string;
  readonly message: string;
}

/** The member names and indexes from the root of a request body to a part of it. */
export type InputPath = readonly (string | number)[];

// Limits the answer, because a small body can have very many mistakes.
const MAX_ERRORS = 100;

/** Validates a value with a schema, and returns the schema's result. `at` is the path of the value in the request body. */
export async function checkInput(
  schema: ActionSchema,
  value: unknown,
  at: InputPath = [],
): Promise<{ readonly value: unknown } | { readonly errors: readonly InputError[] }> {
  const validated = schema['~standard'].validate(value);
  const result = validated instanceof Promise ? await validated : validated;
  if (!result.issues) return { value: result.value };
  return {
    errors: result.issues.map(({ message, path = [] }) => ({
      pointer: pointerTo([...at, ...path.map(segmentKey)]),
      message,
    })),
  };
}

/** The problem for a body with mistakes. */
export function inputInvalid(errors: readonly InputError[]): Problem {
  return {
    status: 422,
    code: 'input_invalid',
    detail: 'The body does not match the input schema; errors lists each mistake.',
    members: { errors: errors.slice(0, MAX_ERRORS) },
  };
}

export function pointerTo(place: InputPath): string {
  const steps = place.map((step) =>
    encodeURIComponent(String(step).toWellFormed().replaceAll('~', '~0').replaceAll('/', '~1')),
  );
  return ['#', ...steps].join('/');
}

function segmentKey(segment: PropertyKey | StandardSchemaV1.PathSegment): string | number {
  const key = typeof segment === 'object' ? segment.key : segment;
  return typeof key === 'symbol' ? String(key) : key;
}

// Control characters are refused: PostgreSQL refuses NUL in text, and no id contains the others.
const OBJECT_ID = /^\P{Cc}{1,255}$/u;

export const OBJECT_ID_RULE = 'An id has 1 to 255 characters, and no control characters.';

/** Whether a value is a possible id of an object. */
export function isObjectId(value: unknown): value is string {
  return typeof value === 'string' && OBJECT_ID.test(value);
}

/** The result of a call: its output as JSON text, or a problem. */
export type Outcome = { readonly json: string } | { readonly problem: Problem };

/** Where a failure is logged, and the fields that identify it. */
export interface FailureLog {
  readonly logger: Logger;
  readonly requestId: string;
  /** The index of the item in a bulk. */
  readonly item?: number;
}

/** The call of an action, of a caller who may have lost the permission meanwhile. */
export interface RequestedCall extends Omit<ActionCall, 'object' | 'principal'> {
  readonly reauthenticate: Reauthenticate;
}

/** Finds the current principal of a request, unless it may not run the action any more. */
export async function admitCaller(
  action: ApiAction,
  reauthenticate: Reauthenticate,
): Promise<{ readonly principal: Principal } | { readonly problem: Problem }> {
  const principal = await reauthenticate();
  if ('status' in principal) return { problem: principal };
  const problem = action.refusalOf(principal);
  return problem ? { problem } : { principal };
}

/**
 * Finds the current principal of a call, and the object for which the rule allows it. Throws what the action throws while it loads the
 * object.
 */
export async function admitCall(
  action: ApiAction,
  { reauthenticate, ...requested }: RequestedCall,
): Promise<{ readonly call: ActionCall } | { readonly problem: Problem }> {
  const admitted = await admitCaller(action, reauthenticate);
  if ('problem' in admitted) return admitted;
  const { principal } = admitted;
  const call = { ...requested, principal };
  if (!action.object) return { call: { ...call, object: undefined } };
  const object = await action.object(call);
  if (object === undefined || object === null) {
    const isKnownById = action.level === 'instance';
    return { problem: objectNotFound(isKnownById ? `There is no ${action.type} with this id.` : undefined) };
  }
  const problem = action.refusalOf(principal, object);
  return problem ? { problem } : { call: { ...call, object } };
}

/** Runs an action with checked input, and validates its output. Never throws. */
export async function runAction(action: ApiAction, call: RequestedCall, log: FailureLog): Promise<Outcome> {
  try {
    const admitted = await admitCall(action, call);
    if ('problem' in admitted) return admitted;
    const checked = await checkInput(action.output, await action.run(admitted.call));
    // `JSON.stringify(undefined)` is `undefined`, which is not JSON.
    if (!('errors' in checked)) return { json: JSON.stringify(checked.value) ?? 'null' };
    const mistakes = checked.errors.map(({ pointer, message }) => `${pointer}: ${message}`);
    throw new TypeError(
      `${action.type}/${action.name} returned a value that does not match its output schema: ${mistakes.join('; ')}`,
    );
  } catch (error) {
    // After an abort the action may fail in any way, and no client waits for the answer: such an error is not logged.
    if (call.signal.aborted) return { problem: ABORTED };
    return { problem: explainFailure(error, action, log) };
  }
}

/** The problem for an error of an action or of its schema. A fault of the server is logged. */
export function explainFailure(error: unknown, action: Action, log: FailureLog): Problem {
  const { item, logger, requestId } = log;
  const fields = { action: `${action.type}/${action.name}`, ...(item === undefined ? {} : { item }) };
  return explainError(error, logger, { request_id: requestId, ...fields });
}

export const ABORTED: Problem = {
  status: 503,
  code: 'aborted',
  detail: 'The action was aborted.',
};
