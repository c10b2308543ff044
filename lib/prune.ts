import { setTimeout } from 'node:timers/promises';

import { now } from './clock.ts';
import type { Storage } from './contracts.ts';

/** How pruning is followed and stopped. */
export interface PruneOptions {
  /** Told after each batch how many rows have been removed so far. */
  readonly onProgress?: ((removed: number) => void) | undefined;
  /** Stops it after the batch under way. */
  readonly signal?: AbortSignal | undefined;
}

// So few rows that requests hardly wait for a batch: SQLite blocks the thread meanwhile, and a server locks the rows.
const BATCH = 100;

/** For `rest`: a server has its requests to answer in between; a command shares the database with servers. */
export const RESTS = { ofServer: 3, ofCommand: 1 } as const;

/**
 * Removes what has expired, in small batches, while servers use the storage. Resolves to the number of rows removed.
 *
 * @param rest - how long it rests after each batch, in multiples of what the batch took, so that requests get through
 */
export async function pruneExpired(
  storage: Pick<Storage, 'prune'>,
  { onProgress, signal }: PruneOptions,
  rest: number,
): Promise<number> {
  let total = 0;
  for (;;) {
    if (signal?.aborted) return total;
    const startedAt = performance.now();
    const removed = await storage.prune(now(), BATCH);
    if (removed === 0) return total;
    total += removed;
    onProgress?.(total);
    await setTimeout((performance.now() - startedAt) * rest);
  }
}
