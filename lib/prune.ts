import { now } from './clock.ts';
import type { Storage } from './contracts.ts';

/** How pruning is followed and stopped. */
export interface PruneOptions {
  /** Told after each batch how many rows have been removed so far. */
  readonly onProgress?: ((removed: number) => void) | undefined;
  /** Stops it after the batch under way. */
  readonly signal?: AbortSignal | undefined;
}

// Small enough that one batch never holds a lock for long.
const BATCH = 500;

/** Removes what has expired, in small batches, while servers use the storage. Resolves to the number of rows removed. */
export async function pruneExpired(
  storage: Pick<Storage, 'prune'>,
  { onProgress, signal }: PruneOptions = {},
): Promise<number> {
  let total = 0;
  for (;;) {
    if (signal?.aborted) return total;
    const removed = await storage.prune(now(), BATCH);
    if (removed === 0) return total;
    total += removed;
    onProgress?.(total);
  }
}
