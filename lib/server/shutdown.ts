import type { Logger, Storage } from '../contracts/index.ts';
import type { Duration } from '../contracts/duration.ts';
import type { ConcurrencyLimit } from '../http/concurrency-limit.ts';
import type { LastUses } from '../clients/last-use.ts';
import { checkDuration } from '../options/checks.ts';

/** How a server closes. */
export interface CloseOptions {
  /** How long requests that are running may take to end. `0`: they are not waited for. @default '10 seconds' */
  readonly timeout?: Duration;
}

/** What there is to end, in a server. */
export interface RunningParts {
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'close' | 'count'>;
  readonly audit: { flush(): Promise<void> };
  readonly lastUses: Pick<LastUses, 'written'>;
  readonly storage: Pick<Storage, 'close'>;
  readonly logger: Logger;
  /** Ends what the server does from time to time. Resolves when what is under way has ended. */
  readonly stopJobs: () => Promise<void>;
}

// In seconds. The storage has a time of its own for each call, which is as long by default.
const TIME_TO_WRITE = 5;

/**
 * Makes the function that closes a server: requests that are running end, later ones are refused, what is still to be
 * written is written, and then the storage is closed. Every call gives the same promise; the first one's timeout counts.
 */
export function createClose(parts: RunningParts): (options?: CloseOptions) => Promise<void> {
  const { concurrencyLimit, audit, lastUses, logger, stopJobs, storage } = parts;
  let closing: Promise<void> | undefined;

  async function close(timeout: number): Promise<void> {
    const ended = Promise.all([concurrencyLimit.close(), stopJobs()]);
    if (!(await endsWithin(timeout, ended))) {
      logger.warn({ requests: concurrencyLimit.count, timeout }, 'closing before all requests have ended');
    }
    // Requests leave these behind, so they come last. What could not be written is in the log.
    const written = Promise.all([lastUses.written(), audit.flush().catch(() => {})]);
    if (!(await endsWithin(TIME_TO_WRITE, written))) {
      logger.error({}, 'closing before all events are written: the storage does not answer');
    }
    await storage.close();
  }

  // Not async: that would make a promise for each call.
  // oxlint-disable-next-line typescript/promise-function-async
  return (options = {}) => {
    closing ??= close(checkDuration('close({ timeout })', options.timeout ?? '10 seconds', 0));
    return closing;
  };
}

/** Whether work ends within so many seconds. */
async function endsWithin(seconds: number, work: Promise<unknown>): Promise<boolean> {
  const tooLate = Promise.withResolvers<false>();
  const timer = setTimeout(() => tooLate.resolve(false), seconds * 1000);
  try {
    return await Promise.race([work.then(() => true), tooLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}
