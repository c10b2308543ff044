import { setTimeout } from 'node:timers/promises';

import { now } from '../contracts/clock.ts';
import type { Logger, Storage } from '../contracts/index.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { ResolvedOptions } from '../options/options.ts';

/** Work that a server does from time to time. */
export interface Job {
  readonly name: string;
  /** In seconds; 0: never. */
  readonly every: number;
  /** @param signal - aborted when the server stops: what is long ends early */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

// The longest that a timer can wait, in milliseconds.
const LONGEST_WAIT = 2 ** 31 - 1;

/**
 * Runs jobs until it is stopped. A job that fails is logged and tried again at its next time; one that takes longer
 * than its interval is not begun twice. The timers keep no process alive.
 *
 * @returns a function that stops, and resolves when the jobs under way have ended
 */
export function startJobs(jobs: readonly Job[], logger: Logger): () => Promise<void> {
  const stopping = new AbortController();
  const underway = new Map<string, Promise<unknown>>();
  const timers = jobs
    .filter(({ every }) => every > 0)
    .map((job) => setInterval(() => begin(job), Math.min(job.every * 1000, LONGEST_WAIT)).unref());

  function begin({ name, run }: Job): void {
    if (underway.has(name)) return;
    const work = run(stopping.signal)
      .catch((error: unknown) => logger.warn({ err: error, job: name }, 'job failed'))
      .finally(() => underway.delete(name));
    underway.set(name, work);
  }

  return async function stop() {
    stopping.abort();
    for (const timer of timers) clearInterval(timer);
    // A job may wait for a timer that keeps no process alive; who stops wants to see its end.
    const alive = setInterval(() => {}, LONGEST_WAIT);
    await Promise.all(underway.values());
    clearInterval(alive);
  };
}

/** What a server does from time to time: it follows the keys of the other nodes, makes new ones, and removes what has expired. */
export function jobsOf(
  { keyRotation, pruneInterval, revocationLag }: ResolvedOptions,
  {
    keyDelay,
    keyRing,
    storage,
  }: {
    /** In seconds, until a new key signs. */
    readonly keyDelay: number;
    readonly keyRing: KeyRing;
    readonly storage: Pick<Storage, 'prune'>;
  },
): readonly Job[] {
  return [
    { name: 'read keys', every: revocationLag, run: () => keyRing.reload() },
    {
      name: 'rotate keys',
      every: Math.min(keyRotation, 3600),
      run: () => keyRing.rotateOlderThan(keyRotation, keyDelay),
    },
    {
      name: 'prune',
      every: pruneInterval,
      run: (signal) => pruneExpired(storage, { signal }, PAUSES.ofServer),
    },
  ];
}

/** How pruning is followed and stopped. */
export interface PruneOptions {
  /** Told after each batch how many rows have been removed so far. */
  readonly onProgress?: ((removed: number) => void) | undefined;
  /** Stops it after the batch under way. */
  readonly signal?: AbortSignal | undefined;
}

// So few rows that requests hardly wait for a batch: SQLite blocks the thread meanwhile, and a server locks the rows.
const BATCH = 100;

/** For `pause`: a server has its requests to answer in between; a command shares the database with servers. */
export const PAUSES = { ofServer: 3, ofCommand: 1 } as const;

/**
 * Removes what has expired, in small batches, while servers use the storage. Resolves to the number of rows removed.
 *
 * @param pause - how long it waits after each batch, in multiples of what the batch took, so that requests get through
 */
export async function pruneExpired(
  storage: Pick<Storage, 'prune'>,
  { onProgress, signal }: PruneOptions,
  pause: number,
): Promise<number> {
  let total = 0;
  for (;;) {
    if (signal?.aborted) return total;
    const startedAt = performance.now();
    const removed = await storage.prune(now(), BATCH);
    if (removed === 0) return total;
    total += removed;
    onProgress?.(total);
    await setTimeout((performance.now() - startedAt) * pause);
  }
}
