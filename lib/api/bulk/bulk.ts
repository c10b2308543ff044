import type { ConcurrencyLimit, Logger, Storage } from '../../contracts/index.ts';
import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import type { ActionHandler } from '../actions/action-index.ts';
import { problemAnswer, repeatedAnswer, sendAnswer, callerSignal } from '../actions/answer.ts';
import type { ActionContext, Answer } from '../actions/answer.ts';
import { ABORTED, explainFailure, inputInvalid, runAction } from '../actions/perform-action.ts';
import { runAtomically, runIndependently } from './run-items.ts';
import type { Action } from '../actions/define-action.ts';
import { repeatableRequest } from '../idempotency/answer-once.ts';
import { partyOf } from '../request-limits.ts';
import type { RequestLimiter } from '../request-limits.ts';
import type { AnswerOnce, WorkResult, WorkContext } from '../idempotency/answer-once.ts';
import { checkItem, readBulk } from './request.ts';
import type { BulkRequest } from './request.ts';
import { acceptsNdjson, bulkAnswer, sendNdjson, streamNdjson } from './results.ts';
import type { BulkResult } from './results.ts';

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
  /** In bytes. */
  readonly bodyLimit: number;
}

/** Answers `POST /actions/{type}/{action}/bulk`: runs an action for each item. */
export function runBulk(options: BulkOptions): ActionHandler {
  return async function bulk(ctx, action) {
    const body = await readJson(ctx, options.bodyLimit);
    const request = readBulk(body, options.maximum(action));
    if ('errors' in request) {
      sendProblem(ctx, inputInvalid(request.errors));
      return;
    }
    const asNdjson = acceptsNdjson(ctx);
    // With an Idempotency-Key the whole answer is stored, and the results of an atomic bulk are final only at its end.
    const isStreamed =
      asNdjson && request.mode === 'independent' && ctx.headers['idempotency-key'] === undefined;
    if (isStreamed && !options.concurrencyLimit.admitStream(partyOf(ctx.state.principal), ctx.res)) {
      sendProblem(ctx, TOO_MANY_STREAMS);
      return;
    }
    const refusal = await options.countRuns(ctx, action, request.items.length);
    if (refusal) {
      sendProblem(ctx, refusal);
      return;
    }
    if (isStreamed) {
      const signal = callerSignal(ctx);
      streamNdjson(ctx, runEach(options, ctx, action, { ...request, signal }), signal);
      return;
    }
    const done = await options.answerOnce(repeatableRequest(ctx, body), async (work) => {
      const running = { ...request, ...work };
      return request.mode === 'atomic'
        ? answerAtomic(options, ctx, action, running)
        : answerIndependent(options, ctx, action, running);
    });
    const answer = 'body' in done ? done : repeatedAnswer(done);
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

type RunningBulk = BulkRequest & Pick<WorkContext, 'signal'>;

async function answerIndependent(...given: Parameters<typeof runEach>): Promise<WorkResult<Answer>> {
  const bulk = given[3];
  const results: BulkResult[] = [];
  for await (const result of runEach(...given)) results.push(result);
  if (results.length < bulk.items.length) return workResult(problemAnswer(ABORTED), false);
  const inOrder = results.toSorted((a, b) => a.index - b.index);
  return workResult(bulkAnswer(bulk, inOrder), true);
}

function runEach(
  { logger, concurrency }: BulkOptions,
  ctx: ActionContext,
  action: Action,
  { items, dryRun, signal }: RunningBulk,
): AsyncGenerator<BulkResult> {
  const { principal } = ctx.state;
  const { database } = action;
  return runIndependently(items, {
    concurrency,
    signal,
    async run(item, index) {
      const log = { logger, requestId: requestIdOf(ctx), item: index };
      try {
        const checked = await checkItem(action, item, ['items', index]);
        if ('errors' in checked) return { problem: inputInvalid(checked.errors) };
        if (dryRun) return undefined;
        return await runAction(action, { ...checked, principal, database, dryRun, signal }, log);
      } catch (error) {
        // The schema threw: only this item fails.
        return { problem: explainFailure(error, action, log) };
      }
    },
  });
}

async function answerAtomic(
  { logger, storage }: BulkOptions,
  ctx: ActionContext,
  action: Action,
  bulk: BulkRequest & WorkContext,
): Promise<WorkResult<Answer>> {
  const { items, dryRun, storeIn, signal } = bulk;
  const { principal } = ctx.state;
  const log = { logger, requestId: requestIdOf(ctx) };
  const results = await runAtomically(action, items, {
    storage,
    dryRun,
    signal,
    run: async (item, database) => runAction(action, { ...item, principal, database, dryRun, signal }, log),
    storeResults: async (done, transaction) => storeIn(transaction, bulkAnswer(bulk, done)),
  });
  // A bulk that was rolled back had no effect, so a repeat may run it again.
  if ('code' in results) return workResult(problemAnswer(results), false);
  return workResult(bulkAnswer(bulk, results), true);
}

function workResult(answer: Answer, replay: boolean): WorkResult<Answer> {
  return { result: answer, answer: () => answer, replay };
}
