import { toMilliseconds } from '../../contracts/duration.ts';
import type { ConcurrencyLimit, Logger, Seconds, Storage } from '../../contracts/index.ts';
import { whenSent } from '../../http/connection.ts';
import { sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request.ts';
import { isObject } from '../../options/declare.ts';
import type { ActionHandler } from '../actions/action-index.ts';
import { callerSignal, sendAnswer } from '../actions/answer.ts';
import type { Action } from '../actions/define-action.ts';
import { inputInvalid, pointerTo } from '../actions/perform-action.ts';
import type { InputError, ReceiveBody } from '../actions/perform-action.ts';
import { repeatableRequest } from '../answer-once.ts';
import type { AnswerOnce } from '../answer-once.ts';
import { partyOf } from '../request-limits.ts';
import type { RequestLimiter } from '../request-limits.ts';
import { answerAtomically, answerIndependently, runIndependently } from './items.ts';
import { acceptsNdjson, sendNdjson, streamNdjson } from './results.ts';
import type { BulkRequest } from './results.ts';

export interface BulkOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly logger: Logger;
  readonly answerOnce: AnswerOnce;
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'admitStream'>;
  readonly countRuns: RequestLimiter['countRuns'];
  /** The largest number of items in a request. */
  readonly maximum: (action: Action) => number;
  /** How many items run concurrently. */
  readonly concurrency: number;
  readonly receive: ReceiveBody;
  readonly streamTimeout: Seconds;
}

/** Answers `POST /actions/{type}/{action}/bulk`: runs an action for each item. */
export function runBulk(options: BulkOptions): ActionHandler {
  const {
    answerOnce,
    concurrency,
    concurrencyLimit,
    countRuns,
    logger,
    maximum,
    receive,
    storage,
    streamTimeout,
  } = options;
  return async function bulk(ctx, action) {
    const received = await receive(ctx, action);
    if ('refusal' in received) return sendProblem(ctx, received.refusal);
    const { body, reauthenticate } = received;
    const request = readBulk(body, maximum(action));
    if ('errors' in request) return sendProblem(ctx, inputInvalid(request.errors));
    const asNdjson = acceptsNdjson(ctx);
    // With an Idempotency-Key the whole answer is stored, and the results of an atomic bulk are final only at its end.
    const isStreamed =
      asNdjson && request.mode === 'independent' && ctx.headers['idempotency-key'] === undefined;
    if (isStreamed && !concurrencyLimit.admitStream(partyOf(ctx.state.principal), ctx.res))
      return sendProblem(ctx, TOO_MANY_STREAMS);
    const refusal = await countRuns(ctx, action, request.items.length);
    if (refusal) return sendProblem(ctx, refusal);
    const given = {
      ...request,
      action,
      reauthenticate,
      concurrency,
      log: { logger, requestId: requestIdOf(ctx) },
    };
    if (isStreamed) {
      const timer = setTimeout(() => ctx.res.destroy(), toMilliseconds(streamTimeout));
      whenSent(ctx.res, () => clearTimeout(timer));
      const signal = callerSignal(ctx);
      return streamNdjson(ctx, runIndependently({ ...given, signal }), signal);
    }
    const answer = await answerOnce(repeatableRequest(ctx, body), async ({ signal, storeIn }) =>
      request.mode === 'atomic'
        ? answerAtomically({ ...given, signal }, storage, storeIn)
        : answerIndependently({ ...given, signal }),
    );
    if (asNdjson && answer.status === 200) sendNdjson(ctx, answer);
    else sendAnswer(ctx, answer);
  };
}

const TOO_MANY_STREAMS: Problem = {
  status: 429,
  code: 'too_many_requests',
  detail:
    'The results of too many bulks are being sent to you. Read one of them to its end, or accept application/json only.',
  headers: { 'Retry-After': '1' },
};

/** Reads `{ items, mode?, dryRun? }`. The items themselves are checked later. */
function readBulk(body: unknown, maximum: number): BulkRequest | { readonly errors: readonly InputError[] } {
  if (!isObject(body)) return { errors: [{ pointer: '#', message: 'Send an object with items.' }] };
  const { items, mode = 'independent', dryRun = false, ...unknown } = body;
  const errors: InputError[] = [];
  const refuse = (member: string, message: string) => errors.push({ pointer: pointerTo([member]), message });
  for (const name of Object.keys(unknown)) refuse(name, 'There is no such member.');
  if (!Array.isArray(items)) refuse('items', 'Give an array of items.');
  else if (items.length === 0) refuse('items', 'Give at least one item.');
  else if (items.length > maximum) refuse('items', `Give at most ${maximum} items.`);
  if (mode !== 'independent' && mode !== 'atomic') refuse('mode', 'Give "independent" or "atomic".');
  if (typeof dryRun !== 'boolean') refuse('dryRun', 'Give true or false.');
  if (errors.length > 0) return { errors };
  return { items, mode, dryRun } as BulkRequest;
}
