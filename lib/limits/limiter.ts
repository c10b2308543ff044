import { createHmac } from 'node:crypto';

import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptCounter, AttemptStore, Limiter, Logger, Seconds } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { hmacKeysFrom } from '../keys/secrets.ts';
import type { Secrets } from '../keys/secrets.ts';
import { createCounters } from './counters.ts';

/** How many attempts of one kind may be made in a window of time. */
export interface Limit<S> {
  /** The length of the window, which begins with the first attempt. */
  readonly window: Seconds;
  /**
   * The longest time for which a node refuses without reading the storage, where attempts are given back on other nodes.
   *
   * @default the window
   */
  readonly remembered?: Seconds;
  /** What an attempt is counted for. When several counters are full, the error has the end of the first one. */
  keysOf(subject: S): readonly LimitKey[];
  /** Whether a successful attempt resets the counter of its first key, so that earlier failed attempts do not count any more. */
  readonly resetsFirst?: boolean;
}

/** What attempts are counted for. */
export interface LimitKey {
  /** A kind, and the values that identify it within the kind. */
  readonly key: readonly string[];
  /** How many attempts may be counted. */
  readonly limit: number;
}

/** Makes the id of a counter from what is counted: its kind, and the values that identify it within the kind. */
export type IdOf = (counted: readonly string[]) => string;

/**
 * Makes the ids under which attempts are counted. They are keyed hashes, because a plain hash of a login name
 * or an address can be reversed by trying all of them, and a reader of the database must not learn which
 * users log in from which addresses.
 *
 * The counters begin anew when another secret becomes the first one.
 *
 * @returns reads the secret once, for all ids of a call
 */
export function createAttemptIds(secrets: Secrets): () => IdOf {
  const keys = hmacKeysFrom(secrets, 'gatehouse attempts');
  return () => {
    const key = keys()[0]!;
    return (counted) => createHmac('sha256', key).update(JSON.stringify(counted)).digest('base64url');
  };
}

/** Makes the limiter of a limit, which counts in a store that all nodes share. */
export function createLimiter<S>(
  store: Pick<AttemptStore, 'count' | 'release'>,
  limit: Limit<S>,
  { ids, logger }: { readonly ids: () => IdOf; readonly logger: Pick<Logger, 'warn'> },
): Limiter<S> {
  const attempts = createCounters(store, limit);

  function countersOf(subject: S): readonly AttemptCounter[] {
    const idOf = ids();
    return limit.keysOf(subject).map(({ key, limit: most }) => ({ id: idOf(key), limit: most }));
  }

  async function giveBack(
    counters: readonly AttemptCounter[],
    reset: readonly AttemptCounter[],
  ): Promise<void> {
    try {
      await attempts.end(counters, true, reset);
    } catch (error) {
      // The attempt stays counted until the window ends. Its result is still returned.
      logger.warn({ err: error }, 'attempt count not restored after an attempt that did not fail');
    }
  }

  return {
    check(subject) {
      if (!attempts.isEmpty) attempts.check(countersOf(subject));
    },
    take: async (subject) => attempts.count(countersOf(subject)),
    async attempt(subject, run) {
      const counters = countersOf(subject);
      const sequence = await attempts.begin(counters);
      let found: Awaited<ReturnType<typeof run>>;
      try {
        found = await run(sequence);
      } catch (error) {
        await giveBack(counters, []);
        throw error;
      }
      if (found === undefined) await attempts.end(counters, false);
      else await giveBack(counters, limit.resetsFirst ? counters.slice(0, 1) : []);
      return found;
    },
  };
}

/**
 * Makes the limiter of a limit that each node has for itself. It counts at once, in memory, where a write to the storage would cost more
 * than the attempt itself.
 *
 * @returns counts an attempt. @throws TooManyAttemptsError when the limit is reached; the attempt is not counted then
 */
export function createNodeLimiter<S>(limit: Limit<S>): (subject: S) => void {
  const counts = new LRUCache<string, { count: number; readonly end: Seconds }>(CACHE_BOUND);

  return (subject) => {
    const at = now();
    const counters = limit.keysOf(subject).map(({ key, limit: most }) => {
      const id = key.join(' ');
      const found = counts.get(id);
      const counter = found !== undefined && found.end > at ? found : { count: 0, end: at + limit.window };
      return { id, most, counter };
    });
    const full = counters.find(({ counter, most }) => counter.count >= most);
    if (full) throw new TooManyAttemptsError(full.counter.end - at);
    for (const { counter, id } of counters) {
      counter.count += 1;
      counts.set(id, counter);
    }
  };
}
