import type { Outcome } from '../actions/run-action.ts';
import { idOf, resultOf, takeTurns } from './check-item.ts';
import type { BulkResult } from './check-item.ts';

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
  const otherRequests = takeTurns();
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
    await otherRequests();
  }
}
