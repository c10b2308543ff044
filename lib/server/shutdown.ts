import type { Logger, Storage } from '../contracts/index.ts';
import type { Duration } from '../contracts/duration.ts';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import type { LastUses } from '../clients/last-use.ts';
import { checkDuration } from '../options/checks.ts';

/** The options of `auth.close()`. */
export interface CloseOptions {
  /** How long to wait for the running requests. `0`: not at all. @default '10 seconds' */
  readonly timeout?: Duration;
}

/** The parts of a server that are stopped. */
export interface RunningParts {
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'close' | 'count'>;
  readonly audit: { flush(): Promise<void> };
  readonly lastUses: Pick<LastUses, 'written'>;
  readonly storage: Pick<Storage, 'close'>;
  readonly logger: Logger;
  /** Stops the jobs. Resolves when the running ones have ended. */
  readonly stopJobs: () => Promise<void>;
}

// In seconds. The storage's own timeout for each query has the same default.
const WRITE_TIMEOUT = 5;

/**
 * Creates the function that closes a server: it waits for the running requests while new ones are refused, writes the pending
 * audit events and last uses, and closes the storage. Every call returns the same promise; the timeout of the first call
 * applies.
 */
export function createClose(parts: RunningParts): (options?: CloseOptions) => Promise<void> {
  const { concurrencyLimit, audit, lastUses, logger, stopJobs, storage } = parts;
  let closing: Promise<void> | undefined;

  async function close(timeout: number): Promise<void> {
    const ended = Promise.all([concurrencyLimit.close(), stopJobs()]);
    if (!(await endsWithin(timeout, ended))) {
      logger.warn({ requests: concurrencyLimit.count, timeout }, 'closing before all requests have ended');
    }
    // After the requests, because they add to these. The audit log logs a failed write itself.
    const written = Promise.all([lastUses.written(), audit.flush().catch(() => {})]);
    if (!(await endsWithin(WRITE_TIMEOUT, written))) {
      logger.error({}, 'closing before all events are written: the storage does not answer');
    }
    await storage.close();
  }

  // Not async, because an async function would return a different promise from each call.
  // oxlint-disable-next-line typescript/promise-function-async
  return (options = {}) => {
    closing ??= close(checkDuration('close({ timeout })', options.timeout ?? '10 seconds', 0));
    return closing;
  };
}

/** Whether a promise settles within a number of seconds. */
async function endsWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const timeout = Promise.withResolvers<false>();
  const timer = setTimeout(() => timeout.resolve(false), seconds * 1000);
  try {
    return await Promise.race([work.then(() => true), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
