import { Server } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

import { toMilliseconds } from '../contracts/duration.ts';
import type { ConcurrencyLimit, Logger, Seconds, Storage } from '../contracts/index.ts';
import type { LastUses } from '../clients/last-use.ts';
import { ConfigError } from '../errors.ts';
import { optional, readOptions } from '../options/declare.ts';
import type { Check, Given, Values } from '../options/declare.ts';
import { duration } from '../options/values.ts';
import type { CacheInvalidation } from '../token/cache-invalidation.ts';

const httpServer: Check<Server> = (place, given) => {
  if (given instanceof Server) return given;
  throw new ConfigError(place, 'pass the server that listen() was called on, or leave it out');
};

const CLOSE = {
  /** How long to wait for the running requests. `0`: not at all. @default '10 seconds' */
  timeout: optional(duration(0), '10 seconds'),
  /**
   * How long requests are still served before they are refused. Meanwhile `/readyz` responds with 503, so that load balancers stop
   * sending requests, and each response ends its keep-alive connection (`Connection: close`). Give at least the time that your
   * load balancer needs to notice. @default 0
   */
  drain: optional(duration(0), 0),
  /**
   * The HTTP server. It stops listening after the drain, and its requests to the host are waited for too. @default none: close it
   * yourself
   */
  server: optional(httpServer),
};

/** The options of `auth.close()`. */
export interface CloseOptions extends Given<typeof CLOSE> {}

/** The parts of a server that are stopped. */
export interface RunningParts {
  readonly concurrencyLimit: Pick<ConcurrencyLimit, 'close' | 'count' | 'drain'>;
  readonly audit: { flush(): Promise<void> };
  readonly invalidation: Pick<CacheInvalidation, 'announced'>;
  readonly lastUses: Pick<LastUses, 'written'>;
  readonly storage: Pick<Storage, 'close'>;
  readonly logger: Logger;
  /** Stops the jobs. Resolves when the running ones have ended. */
  readonly stopJobs: () => Promise<void>;
}

// The storage's own timeout for each query has the same default.
const WRITE_TIMEOUT: Seconds = 5;

/**
 * Creates the function that closes a server: it drains, waits for the running requests while new ones are refused, writes the pending
 * audit events and last uses, and closes the storage. Every call returns the same promise; the timeout of the first call
 * applies.
 */
export function createClose(parts: RunningParts): (options?: CloseOptions) => Promise<void> {
  const { concurrencyLimit, audit, invalidation, lastUses, logger, stopJobs, storage } = parts;
  let closing: Promise<void> | undefined;

  async function close({ drain, server, timeout }: Values<typeof CLOSE>): Promise<void> {
    concurrencyLimit.drain();
    if (drain > 0) await delay(toMilliseconds(drain));
    const ended = Promise.all([stopListening(server), concurrencyLimit.close(), stopJobs()]);
    if (!(await endsWithin(timeout, ended))) {
      logger.warn({ requests: concurrencyLimit.count, timeout }, 'closing before all requests have ended');
    }
    // After the requests, because they add to these. The audit log logs a failed write itself.
    const written = Promise.all([
      lastUses.written(),
      audit.flush().catch(() => {}),
      invalidation.announced(),
    ]);
    if (!(await endsWithin(WRITE_TIMEOUT, written))) {
      logger.error({}, 'closing before all events are written: the storage does not answer');
    }
    await storage.close();
  }

  // Not async, because an async function would return a different promise from each call.
  // oxlint-disable-next-line typescript/promise-function-async
  return (options = {}) => {
    closing ??= close(readOptions(CLOSE, options, 'close()'));
    return closing;
  };
}

/** Stops listening. Resolves when all connections have ended, also those of requests to the host. */
async function stopListening(server: Server | undefined): Promise<void> {
  if (!server?.listening) return;
  const closed = Promise.withResolvers<void>();
  server.close(() => closed.resolve());
  await closed.promise;
}

/** Whether a promise settles within a number of seconds. */
export async function endsWithin(seconds: Seconds, work: Promise<unknown>): Promise<boolean> {
  const timeout = Promise.withResolvers<false>();
  const timer = setTimeout(() => timeout.resolve(false), toMilliseconds(seconds));
  try {
    return await Promise.race([work.then(() => true), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
