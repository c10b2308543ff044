import { setTimeout } from 'node:timers/promises';

import { now } from '../contracts/clock.ts';
import type { Logger, Storage } from '../contracts/index.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/** Periodic work of a server. */
export interface Job {
  readonly name: string;
  /** In seconds; 0: never. */
  readonly every: number;
  /** @param signal - aborted when the server closes, so that a long job ends early */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

// The longest delay of a timer in Node, in milliseconds.
const LONGEST_DELAY = 2 ** 31 - 1;

/**
 * Starts jobs at their intervals. The error of a failed job is logged, and the job runs again after its interval; a job that
 * takes longer than its interval is not started a second time. The timers do not keep the process alive.
 *
 * @returns a function that stops the timers and resolves when the running jobs have ended
 */
export function startJobs(jobs: readonly Job[], logger: Logger): () => Promise<void> {
  const stopping = new AbortController();
  const running = new Map<string, Promise<unknown>>();
  const timers = jobs
    .filter(({ every }) => every > 0)
    .map((job) => setInterval(() => start(job), Math.min(job.every * 1000, LONGEST_DELAY)).unref());

  function start({ name, run }: Job): void {
    if (running.has(name)) return;
    const work = run(stopping.signal)
      .catch((error: unknown) => logger.warn({ err: error, job: name }, 'job failed'))
      .finally(() => running.delete(name));
    running.set(name, work);
  }

  return async function stop() {
    stopping.abort();
    for (const timer of timers) clearInterval(timer);
    // A running job may await a timer that does not keep the process alive; without this one the process could end before the
    // job.
    const keepAlive = setInterval(() => {}, LONGEST_DELAY);
    await Promise.all(running.values());
    clearInterval(keepAlive);
  };
}

/** The jobs of a server: reading the keys of the other nodes, rotating the keys, and deleting expired rows. */
export function serverJobs(
  { keyRotation, pruneInterval, revocationLag }: ResolvedOptions,
  {
    keyDelay,
    keyRing,
    storage,
  }: {
    /** The delay after which a new key signs, in seconds. */
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
      run: (signal) => pruneExpired(storage, { signal }, PAUSES.server),
    },
  ];
}

/** The progress and the end of `prune()`. */
export interface PruneOptions {
  /** Called after each batch with the number of rows deleted so far. */
  readonly onProgress?: ((removed: number) => void) | undefined;
  /** When aborted, pruning ends after the current batch. */
  readonly signal?: AbortSignal | undefined;
}

// Small, because requests wait for a batch: SQLite blocks the thread, and a database server locks the rows.
const BATCH = 100;

/**
 * Values for `pause`. In a server pruning delays its requests, in a command only those of the servers with the same database.
 */
export const PAUSES = { server: 3, command: 1 } as const;

/**
 * Deletes expired rows in small batches, while servers use the storage. Resolves to the number of rows deleted.
 *
 * @param pause - the pause for requests after each batch, as a multiple of the duration of the batch
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
