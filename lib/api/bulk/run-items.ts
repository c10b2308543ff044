import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Storage } from '../../contracts/index.ts';
import { problemDocument } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { ABORTED, inputInvalid } from '../actions/perform-action.ts';
import type { InputError, Outcome } from '../actions/perform-action.ts';
import type { Action } from '../actions/define-action.ts';
import { checkItem, idOf } from './request.ts';
import type { CheckedItem } from './request.ts';
import { resultOf } from './results.ts';
import type { BulkResult } from './results.ts';

export interface IndependentOptions {
  /** How many items run concurrently. */
  readonly concurrency: number;
  /** When it is aborted, no further item is started. */
  readonly signal: AbortSignal;
  /** Runs one item, and never throws. */
  readonly run: (item: unknown, index: number) => Promise<Outcome | undefined>;
}

/**
 * Runs the items of a bulk and yields their results as they finish. Items with the same id run in their order, one after the
 * other. An item is started only when the consumer requests the next result, so that a slow client slows the bulk down.
 */
export async function* runIndependently(
  items: readonly unknown[],
  { concurrency, signal, run }: IndependentOptions,
): AsyncGenerator<BulkResult, void> {
  const underWay = new Map<number, Promise<BulkResult>>();
  const lastById = new Map<string, Promise<BulkResult>>();
  const yieldIfDue = yieldToOtherRequests();
  let next = 0;

  function begin(index: number): void {
    const item = items[index];
    const id = idOf(item);
    const before = id === undefined ? undefined : lastById.get(id);
    const running = (async () => {
      await before;
      return resultOf(index, await run(item, index));
    })();
    underWay.set(index, running);
    if (id !== undefined) lastById.set(id, running);
  }

  while (next < items.length || underWay.size > 0) {
    while (next < items.length && underWay.size < concurrency && !signal.aborted) {
      begin(next);
      next += 1;
    }
    if (underWay.size === 0) return;
    const result = await Promise.race(underWay.values());
    underWay.delete(result.index);
    yield result;
    await yieldIfDue();
  }
}

export interface AtomicOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  /** Whether all items run and are then rolled back. */
  readonly dryRun: boolean;
  /** When it is aborted, the transaction is rolled back. */
  readonly signal: AbortSignal;
  /** Runs one item in the transaction, and never throws. */
  readonly run: (item: CheckedItem, transaction: unknown) => Promise<Outcome>;
  /** Stores the results in the transaction. `false`: another attempt has taken over, so the transaction is rolled back. */
  readonly storeResults: (results: readonly BulkResult[], transaction: unknown) => Promise<boolean>;
}

/**
 * Runs the items of a bulk in their order, in one transaction, which is rolled back when an item fails. No item runs before all
 * inputs were checked.
 */
export async function runAtomically(
  action: Action,
  items: readonly unknown[],
  { storage, dryRun, signal, run, storeResults }: AtomicOptions,
): Promise<readonly BulkResult[] | Problem> {
  if (action.database === undefined) return UNSUPPORTED;
  const checked = await checkAll(action, items);
  if ('errors' in checked) return inputInvalid(checked.errors);

  const results: BulkResult[] = [];
  const yieldIfDue = yieldToOtherRequests();
  try {
    await storage.transaction(async (transaction) => {
      if (transaction === undefined) throw new RollbackError(UNSUPPORTED);
      for (const [index, item] of checked.entries()) {
        const outcome = await run(item, transaction);
        if ('problem' in outcome) throw new RollbackError(failedAt(index, outcome.problem));
        // The action may have ignored the signal.
        if (signal.aborted) throw new RollbackError(ABORTED);
        results.push(resultOf(index, outcome));
        await yieldIfDue();
      }
      if (dryRun) throw new RollbackError(undefined);
      if (!(await storeResults(results, transaction))) throw new RollbackError(ABORTED);
    });
  } catch (error) {
    if (!(error instanceof RollbackError)) throw error;
    if (error.problem) return error.problem;
  }
  return results;
}

async function checkAll(
  action: Action,
  items: readonly unknown[],
): Promise<readonly CheckedItem[] | { readonly errors: readonly InputError[] }> {
  const checked: CheckedItem[] = [];
  const yieldIfDue = yieldToOtherRequests();
  const errors: InputError[] = [];
  for (const [index, item] of items.entries()) {
    const result = await checkItem(action, item, ['items', index]);
    if ('errors' in result) errors.push(...result.errors);
    else checked.push(result);
    await yieldIfDue();
  }
  return errors.length > 0 ? { errors } : checked;
}

/** Thrown to roll the transaction back. */
class RollbackError extends Error {
  readonly problem: Problem | undefined;

  constructor(problem: Problem | undefined) {
    super('rolled back');
    this.problem = problem;
  }
}

function failedAt(index: number, problem: Problem): Problem {
  return {
    ...problem,
    code: 'bulk_rolled_back',
    detail: `Item ${index} failed, so nothing was changed.`,
    members: { index, problem: problemDocument(problem) },
  };
}

const UNSUPPORTED: Problem = {
  status: 422,
  code: 'atomic_unsupported',
  detail: 'This action cannot be rolled back. Send the items with the mode "independent".',
};

/** In milliseconds. */
const TIME_SLICE = 10;

/**
 * Creates a function to await between the items of a bulk. Every 10 ms it yields to the event loop: with a synchronous database
 * such as SQLite, a bulk would otherwise block the event loop until its last item.
 */
function yieldToOtherRequests(): () => Promise<void> {
  let startedAt = performance.now();
  return async function yieldIfDue() {
    if (performance.now() - startedAt < TIME_SLICE) return;
    await nextTurn();
    startedAt = performance.now();
  };
}
