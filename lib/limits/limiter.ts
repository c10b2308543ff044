import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptCounter, AttemptStore, CountedAttempt } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';

/**
 * Limits attempts of one kind, in a window of time, on all nodes together. An attempt is counted in each of its counters, such as
 * those of an account and of a network, or in none of them when one is full.
 */
export interface Limiter {
  /** Reads no storage. @throws TooManyAttemptsError when this node remembers that one of the counters is full */
  check(counters: readonly AttemptCounter[]): void;
  /** Counts an attempt in the storage, or tells which counter is full, which this node does not remember. */
  count(counters: readonly AttemptCounter[]): Promise<CountedAttempt>;
  /** Remembers that a counter is full. @throws TooManyAttemptsError always */
  refuse(full: { readonly id: string; readonly expiresAt: number }): never;
  /** All of the above. @throws TooManyAttemptsError when one of the counters is full */
  take(counters: readonly AttemptCounter[]): Promise<void>;
  /** Uncounts an attempt, and in the counters `reset` all attempts. */
  giveBack(counters: readonly AttemptCounter[], reset?: readonly AttemptCounter[]): Promise<void>;
  /** Whether this node remembers no full counter: then there is nothing to check. */
  readonly isEmpty: boolean;
}

/**
 * @param options.window - in seconds
 * @param options.remembered - in seconds: for how long a node refuses without reading the storage at most, so that a flood of
 * refused attempts does not reach it. Shorter than the window where attempts are given back, which other nodes notice only
 * afterwards. By default the window
 */
export function createLimiter(
  store: AttemptStore,
  { window, remembered = window }: { readonly window: number; readonly remembered?: number },
): Limiter {
  const full = new LRUCache<string, { readonly end: number; readonly until: number }>(CACHE_BOUND);

  function check(counters: readonly AttemptCounter[]): void {
    if (full.size === 0) return;
    const at = now();
    for (const { id } of counters) {
      const found = full.get(id);
      if (found && found.until > at) throw new TooManyAttemptsError(found.end - at);
      if (found) full.delete(id);
    }
  }

  async function count(counters: readonly AttemptCounter[]): Promise<CountedAttempt> {
    const at = now();
    return store.count(counters, { now: at, expiresAt: at + window });
  }

  function refuse({ id, expiresAt: end }: { readonly id: string; readonly expiresAt: number }): never {
    const at = now();
    full.set(id, { end, until: Math.min(end, at + remembered) });
    throw new TooManyAttemptsError(end - at);
  }

  return {
    check,
    count,
    refuse,
    async take(counters) {
      check(counters);
      const counted = await count(counters);
      if (counted.full) refuse(counted.full);
    },
    async giveBack(counters, reset = []) {
      const kept = counters.filter((counter) => !reset.includes(counter));
      await store.release(idsOf(kept), idsOf(reset));
    },
    get isEmpty() {
      return full.size === 0;
    },
  };
}

function idsOf(counters: readonly AttemptCounter[]): string[] {
  return counters.map(({ id }) => id);
}
