import { setTimeout } from 'node:timers/promises';

import { DAY, HOUR, toMilliseconds } from '../contracts/duration.ts';
import { now } from '../contracts/clock.ts';
import type { AuditLog, Client, Logger, Milliseconds, Seconds, Storage } from '../contracts/index.ts';
import type { PruneClients } from '../features/feature.ts';
import { logFailure } from '../http/unavailable.ts';
import { optional } from '../options/declare.ts';
import type { Given } from '../options/declare.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { abortSignal, fn } from '../options/values.ts';
import { signingKeyAge } from '../record/signing-key-age.ts';
import type { ServerKeys } from './keys.ts';

/** Periodic work of a server. */
export interface Job {
  readonly name: string;
  /** 0: never. */
  readonly every: Seconds;
  /** @param signal - aborted when the server closes, so that a long job ends early */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

// The longest delay of a timer in Node.
const LONGEST_DELAY: Milliseconds = 2 ** 31 - 1;

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
    .map((job) => setInterval(() => start(job), Math.min(toMilliseconds(job.every), LONGEST_DELAY)).unref());

  function start({ name, run }: Job): void {
    if (running.has(name)) return;
    const work = run(stopping.signal)
      .catch((error: unknown) => logFailure(logger, { err: error, job: name }, 'job failed', 'warn'))
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

/**
 * The jobs of a server: checking the clock, reading the keys of the other nodes, rotating the keys, deleting expired rows, and a line in the log each day.
 */
export function serverJobs(
  { issuer, logger, retention, tokens: { keyRotation, revocationLag } }: ResolvedOptions,
  {
    keys,
    pruned,
    watch,
  }: {
    readonly keys: ServerKeys;
    readonly pruned: Pruned;
    /** Checks the clock of this machine. */
    readonly watch: () => Promise<void>;
  },
): readonly Job[] {
  let removed = 0;
  return [
    { name: 'check clock', every: 60, run: watch },
    // Twice as often as keys that were ended have to be refused, because each read takes a while.
    { name: 'read keys', every: revocationLag / 2, run: async () => keys.read() },
    { name: 'rotate keys', every: Math.min(keyRotation || HOUR, HOUR), run: async () => keys.maintain() },
    {
      name: 'prune',
      every: retention.pruneInterval,
      async run(signal) {
        removed += await pruneExpired(pruned, { signal }, PAUSES.server);
      },
    },
    {
      // Shows that keys are rotated and rows are deleted.
      name: 'daily report',
      every: DAY,
      async run() {
        logger.info(
          { issuer, signing_key_age_seconds: signingKeyAge(keys.tokens), rows_removed: removed },
          'running',
        );
        removed = 0;
      },
    },
  ];
}

/** The options of `prune()`. */
export const PRUNE = {
  /** Called after each batch with the number of rows deleted so far. */
  onProgress: optional(fn<(removed: number) => void>()),
  /** When aborted, pruning ends after the current batch. */
  signal: optional(abortSignal),
};

/** The progress and the end of `prune()`. */
export interface PruneOptions extends Given<typeof PRUNE> {}

// Small, because requests wait for a batch: SQLite blocks the thread, and a database server locks the rows.
const BATCH = 100;

/**
 * Values for `pause`. In a server pruning delays its requests, in a command only those of the servers with the same database.
 */
export const PAUSES = { server: 3, command: 1 } as const;

/** What is pruned, and who learns of it. */
export interface Pruned {
  readonly storage: Storage;
  readonly ofFeatures: readonly PruneClients[];
  /** Called with each client that was removed because it is unused. */
  readonly onRemoved: (client: Pick<Client, 'id' | 'name'>) => void;
}

/** Records the removal of an unused client, and removes it from the caches. */
export function createOnRemoved(
  audit: Pick<AuditLog, 'record'>,
  onChange: (clientId: string) => void,
): Pruned['onRemoved'] {
  return ({ id: clientId, name }) => {
    onChange(clientId);
    audit.record({ type: 'client_deleted', clientId, name });
  };
}

/**
 * Deletes expired rows and unused clients in small batches, while servers use the storage. Resolves to the number of rows and
 * clients deleted.
 *
 * @param pause - the pause for requests after each batch, as a multiple of the duration of the batch
 */
export async function pruneExpired(
  { ofFeatures, onRemoved, storage }: Pruned,
  { onProgress, signal }: PruneOptions,
  pause: number,
): Promise<number> {
  let total = 0;

  /** @param prune - resolves to the number of rows deleted, and whether none is left */
  async function repeat(prune: () => Promise<{ count: number; isDone: boolean }>): Promise<void> {
    for (;;) {
      if (signal?.aborted) return;
      const startedAt = performance.now();
      const { count, isDone } = await prune();
      total += count;
      if (count > 0) onProgress?.(total);
      if (isDone) return;
      await setTimeout((performance.now() - startedAt) * pause);
    }
  }

  await repeat(async () => {
    const count = await storage.prune(now(), BATCH);
    return { count, isDone: count === 0 };
  });
  // Afterwards, because expired grants no longer keep their client.
  for (const prune of ofFeatures)
    await repeat(async () => {
      const { deleted, seen } = await prune(storage, now(), BATCH);
      for (const client of deleted) onRemoved(client);
      return { count: deleted.length, isDone: seen === 0 };
    });
  return total;
}
