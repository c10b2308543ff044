import type { Logger, Storage } from '../../contracts/index.ts';
import { readJson } from '../../http/body.ts';
import { sendProblem } from '../../http/problem.ts';
import { requestIdOf } from '../../http/request-id.ts';
import type { ActionHandler } from '../actions/action-index.ts';
import { dataAnswer, problemAnswer, sendAnswer, whileCallerWaits } from '../actions/answer.ts';
import type { ActionContext } from '../actions/answer.ts';
import { ABORTED, explainFault, inputInvalid, runAction } from '../actions/run-action.ts';
import { runAtomically, runIndependently } from './run-items.ts';
import type { Action } from '../actions/define-action.ts';
import type { AnswerOnce, Done, Work } from '../idempotency/answer-once.ts';
import { checkItem, count } from './check-item.ts';
import type { BulkResult } from './check-item.ts';
import { readBulk, sendLines, streamLines, wantsLines } from './read-bulk.ts';
import type { BulkRequest } from './read-bulk.ts';

export interface BulkOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  readonly logger: Logger;
  readonly answerOnce: AnswerOnce;
  /** The most items of a request. */
  readonly maximum: number;
  /** How many items run at a time. */
  readonly concurrency: number;
  /** In bytes. */
  readonly bodyLimit: number;
}

/** Answers `POST /actions/{type}/{action}/bulk`: runs an action many times. */
export function runBulk(options: BulkOptions): ActionHandler {
  return async function bulk(ctx, action) {
    const body = await readJson(ctx, options.bodyLimit);
    const request = readBulk(body, options.maximum);
    if ('errors' in request) {
      sendProblem(ctx, inputInvalid(request.errors));
      return;
    }
    const asLines = wantsLines(ctx);
    // With a key the answer is kept as a whole, and of an atomic bulk nothing is certain before its end.
    if (asLines && request.mode === 'independent' && ctx.headers['idempotency-key'] === undefined) {
      const signal = whileCallerWaits(ctx);
      streamLines(ctx, independent(options, ctx, action, { ...request, signal }), signal);
      return;
    }
    const answer = await options.answerOnce(ctx, body, async (work) => {
      const running = { ...request, ...work };
      return request.mode === 'atomic'
        ? runAll(options, ctx, action, running)
        : runEach(options, ctx, action, running);
    });
    if (asLines && answer.status === 200) sendLines(ctx, answer);
    else sendAnswer(ctx, answer);
  };
}

type RunningBulk = BulkRequest & Pick<Work, 'signal'>;

async function runEach(...given: Parameters<typeof independent>): Promise<Done> {
  const bulk = given[3];
  const results: BulkResult[] = [];
  for await (const result of independent(...given)) results.push(result);
  if (results.length < bulk.items.length) return { answer: problemAnswer(ABORTED), keep: false };
  const inOrder = results.toSorted((a, b) => a.index - b.index);
  return { answer: bulkAnswer(bulk, inOrder), keep: true };
}

function independent(
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
        // A schema threw: this item's trouble, not that of the others.
        return { problem: explainFault(error, action, log) };
      }
    },
  });
}

async function runAll(
  { logger, storage }: BulkOptions,
  ctx: ActionContext,
  action: Action,
  bulk: BulkRequest & Work,
): Promise<Done> {
  const { items, dryRun, storeIn, signal } = bulk;
  const { principal } = ctx.state;
  const log = { logger, requestId: requestIdOf(ctx) };
  const results = await runAtomically(action, items, {
    storage,
    dryRun,
    signal,
    run: async (item, database) => runAction(action, { ...item, principal, database, dryRun, signal }, log),
    keep: async (done, transaction) => storeIn(transaction, bulkAnswer(bulk, done)),
  });
  // What was rolled back had no effect, and can be sent again.
  if ('code' in results) return { answer: problemAnswer(results), keep: false };
  return { answer: bulkAnswer(bulk, results), keep: true };
}

function bulkAnswer({ mode, dryRun }: BulkRequest, results: readonly BulkResult[]) {
  const { succeeded, failed } = count(results);
  const head = JSON.stringify({ mode, dryRun, succeeded, failed }).slice(0, -1);
  return dataAnswer(`${head},"results":[${results.map(({ text }) => text).join(',')}]}`);
}
