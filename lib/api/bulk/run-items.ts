import type { Storage } from '../../contracts/index.ts';
import { problemDocument } from '../../http/problem.ts';
import type { Problem } from '../../http/problem.ts';
import { ABORTED, inputInvalid } from '../actions/run-action.ts';
import type { InputError, Outcome } from '../actions/run-action.ts';
import type { Action } from '../actions/define-action.ts';
import { checkItem, idOf, resultOf, yieldToOtherRequests } from './check-item.ts';
import type { BulkResult, CheckedItem } from './check-item.ts';

export interface IndependentOptions {
  /** How many items run at a time. */
  readonly concurrency: number;
  /** When it is aborted, no further item is begun. */
  readonly signal: AbortSignal;
  /** Runs one item, and never throws. */
  readonly run: (item: unknown, index: number) => Promise<Outcome | undefined>;
}

/**
 * Runs the items of a bulk and yields their results as they finish. Items that name the same object run one after the
 * other, in their order. Items are begun only while results are taken, so that a slow reader slows the work down.
 */
export async function* runIndependently(
  items: readonly unknown[],
  { concurrency, signal, run }: IndependentOptions,
): AsyncGenerator<BulkResult, void> {
  const underWay = new Map<number, Promise<BulkResult>>();
  const lastOf = new Map<string, Promise<BulkResult>>();
  const yieldNow = yieldToOtherRequests();
  let next = 0;

  function begin(index: number): void {
    const item = items[index];
    const id = idOf(item);
    const before = id === undefined ? undefined : lastOf.get(id);
    const running = (async () => {
      await before;
      return resultOf(index, await run(item, index));
    })();
    underWay.set(index, running);
    if (id !== undefined) lastOf.set(id, running);
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
    await yieldNow();
  }
}

export interface AtomicOptions {
  readonly storage: Pick<Storage, 'transaction'>;
  /** Run everything, then roll back. */
  readonly dryRun: boolean;
  /** When it is aborted, everything is rolled back. */
  readonly signal: AbortSignal;
  /** Runs one item in the transaction, and never throws. */
  readonly run: (item: CheckedItem, transaction: unknown) => Promise<Outcome>;
  /** Keeps the results in the transaction. `false`: they are not wanted any more. */
  readonly keep: (results: readonly BulkResult[], transaction: unknown) => Promise<boolean>;
}

/**
 * Runs the items of a bulk in their order, in one transaction: all of them, or, when one cannot be run, none. Nothing is
 * begun before every input was checked.
 */
export async function runAtomically(
  action: Action,
  items: readonly unknown[],
  { storage, dryRun, signal, run, keep }: AtomicOptions,
): Promise<readonly BulkResult[] | Problem> {
  if (action.database === undefined) return UNSUPPORTED;
  const checked = await checkAll(action, items);
  if ('errors' in checked) return inputInvalid(checked.errors);

  const results: BulkResult[] = [];
  const yieldNow = yieldToOtherRequests();
  try {
    await storage.transaction(async (transaction) => {
      if (transaction === undefined) throw new RolledBack(UNSUPPORTED);
      for (const [index, item] of checked.entries()) {
        const outcome = await run(item, transaction);
        if ('problem' in outcome) throw new RolledBack(failedAt(index, outcome.problem));
        // What ran to its end may not have looked at the signal.
        if (signal.aborted) throw new RolledBack(ABORTED);
        results.push(resultOf(index, outcome));
        await yieldNow();
      }
      if (dryRun) throw new RolledBack(undefined);
      if (!(await keep(results, transaction))) throw new RolledBack(ABORTED);
    });
  } catch (error) {
    if (!(error instanceof RolledBack)) throw error;
    if (error.problem) return error.problem;
  }
  return results;
}

async function checkAll(
  action: Action,
  items: readonly unknown[],
): Promise<readonly CheckedItem[] | { readonly errors: readonly InputError[] }> {
  const checked: CheckedItem[] = [];
  const yieldNow = yieldToOtherRequests();
  const errors: InputError[] = [];
  for (const [index, item] of items.entries()) {
    const result = await checkItem(action, item, ['items', index]);
    if ('errors' in result) errors.push(...result.errors);
    else checked.push(result);
    await yieldNow();
  }
  return errors.length > 0 ? { errors } : checked;
}

/** Ends the transaction without its effects. */
class RolledBack extends Error {
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
