import { now } from '../../clock.ts';
import type { IdempotencyStore, Logger, StoredRequest } from '../../contracts.ts';

/** For how long an attempt is trusted to be alive, in seconds. If it dies, a repeat waits that long at most. */
export const LEASE = 30;

/** A lease that is renewed until it is released. */
export interface Lease {
  /** Aborted when another attempt has taken over, because this one was not heard of for too long. */
  readonly signal: AbortSignal;
  release(): Promise<void>;
}

/** Keeps telling the store that an attempt is alive. */
export function holdLease(
  store: Pick<IdempotencyStore, 'extend'>,
  attempt: Pick<StoredRequest, 'id' | 'attempt'>,
  logger: Logger,
): Lease {
  const lost = new AbortController();
  let renewal: Promise<void> | undefined;

  async function renew(): Promise<void> {
    try {
      if (!(await store.extend(attempt, now() + LEASE))) lost.abort();
    } catch (error) {
      // The next try may be in time.
      logger.warn({ err: error }, 'The lease of a request with an Idempotency-Key could not be renewed');
    }
  }

  const timer = setInterval(
    () => {
      renewal ??= renew().finally(() => {
        renewal = undefined;
      });
    },
    (LEASE / 3) * 1000,
  );

  return {
    signal: lost.signal,
    async release() {
      clearInterval(timer);
      await renewal;
    },
  };
}
