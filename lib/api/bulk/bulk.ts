import type { Logger, Storage } from '../../contracts/index.ts';
import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import type { ActionHandler } from '../actions/action-index.ts';
import { dataAnswer, problemAnswer, sendAnswer, callerSignal } from '../actions/answer.ts';
import type { ActionContext } from '../actions/answer.ts';
import { ABORTED, explainFailure, inputInvalid, runAction } from '../actions/run-action.ts';
import { runAtomically, runIndependently } from './run-items.ts';
import type { Action } from '../actions/define-action.ts';
import { repeatableRequest } from '../idempotency/answer-once.ts';
import type { RequestLimiter } from '../request-limits.ts';
import type { AnswerOnce, WorkResult, WorkContext } from '../idempotency/answer-once.ts';
import { checkItem } from './check-item.ts';
import type { BulkResult } from './check-item.ts';
import { readBulk, sendNdjson, streamNdjson, acceptsNdjson } from './read-bulk.ts';
import type { BulkRequest } from './read-bulk.ts';

export interface BulkOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly logger: Logger;
  readonly answerOnce: AnswerOnce;
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
    const refusal = await options.countRuns(ctx, action, request.items.length);
    if (refusal) {
      sendProblem(ctx, refusal);
      return;
    }
    const asNdjson = acceptsNdjson(ctx);
    // With an Idempotency-Key the whole answer is stored, and the results of an atomic bulk are final only at its end.
    if (asNdjson && request.mode === 'independent' && ctx.headers['idempotency-key'] === undefined) {
      const signal = callerSignal(ctx);
      streamNdjson(ctx, runEach(options, ctx, action, { ...request, signal }), signal);
      return;
    }
    const answer = await options.answerOnce(repeatableRequest(ctx, body), async (work) => {
      const running = { ...request, ...work };
      return request.mode === 'atomic'
        ? answerAtomic(options, ctx, action, running)
        : answerIndependent(options, ctx, action, running);
    });
    if (asNdjson && answer.status === 200) sendNdjson(ctx, answer);
    else sendAnswer(ctx, answer);
  };
}

type RunningBulk = BulkRequest & Pick<WorkContext, 'signal'>;

async function answerIndependent(...given: Parameters<typeof runEach>): Promise<WorkResult> {
  const bulk = given[3];
  const results: BulkResult[] = [];
  for await (const result of runEach(...given)) results.push(result);
  if (results.length < bulk.items.length) return { answer: problemAnswer(ABORTED), replay: false };
  const inOrder = results.toSorted((a, b) => a.index - b.index);
  return { answer: bulkAnswer(bulk, inOrder), replay: true };
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
): Promise<WorkResult> {
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
  if ('code' in results) return { answer: problemAnswer(results), replay: false };
  return { answer: bulkAnswer(bulk, results), replay: true };
}

function bulkAnswer({ mode, dryRun }: BulkRequest, results: readonly BulkResult[]) {
  const succeeded = results.filter((result) => result.succeeded).length;
  const failed = results.length - succeeded;
  const head = JSON.stringify({ mode, dryRun, succeeded, failed }).slice(0, -1);
  return dataAnswer(`${head},"results":[${results.map(({ text }) => text).join(',')}]}`);
}
