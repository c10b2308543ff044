import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptCounter, AttemptStore, CountedAttempt, Seconds } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';

// The attempts that wait for one counter. More concurrent attempts on one account, or from one address, are treated as an attack.
const MAX_WAITING = 250;

/**
 * Counts attempts of one kind in a window of time, on all nodes together: in each of several counters, such
 * as those of an account and of a network, or in none of them when one is full.
 */
export interface Counters {
  /** Reads no storage. @throws TooManyAttemptsError when this node remembers that one of the counters is full */
  check(counters: readonly AttemptCounter[]): void;
  /** Counts an attempt that is never given back. @throws TooManyAttemptsError when one of the counters is full */
  count(counters: readonly AttemptCounter[]): Promise<void>;
  /**
   * Counts an attempt that may be given back, before it is made, so that concurrent attempts cannot exceed
   * the limit. Call `end` once for it.
   *
   * When a counter is full while attempts are under way that may still be given back, further attempts wait
   * for them: forty users who log in at the same moment from one address, with the right passwords, all
   * succeed although the limit is lower.
   *
   * @returns the sequence of the revocations at that moment
   * @throws TooManyAttemptsError when one of the counters is full
   */
  begin(counters: readonly AttemptCounter[]): Promise<number>;
  /**
   * Ends an attempt that was begun: it stays counted, or is given back.
   *
   * @param reset - the counters whose other attempts are given back too
   */
  end(
    counters: readonly AttemptCounter[],
    isGivenBack: boolean,
    reset?: readonly AttemptCounter[],
  ): Promise<void>;
  /** Whether this node remembers no full counter: then there is nothing to check. */
  readonly isEmpty: boolean;
}

/** The attempts of one counter that were begun on this node. */
interface UnderWay {
  /** The number of calls of the storage that have not resolved. */
  counting: number;
  /** The number of attempts that were counted and not ended. */
  counted: number;
  /** The number of attempts that have ended. */
  ended: number;
  readonly waiting: (() => void)[];
  /** The number of calls that use this object; it is deleted when none is left. */
  references: number;
}

/**
 * @param options.remembered - the longest time for which a node refuses without reading the storage, so that a flood of refused attempts
 * does not reach the storage. Make it shorter than the window where attempts are given back: other nodes notice that only after this
 * time. By default the window
 */
export function createCounters(
  store: Pick<AttemptStore, 'count' | 'release'>,
  { window, remembered = window }: { readonly window: Seconds; readonly remembered?: Seconds | undefined },
): Counters {
  const full = new LRUCache<string, { readonly end: Seconds; readonly until: Seconds }>(CACHE_BOUND);
  const underWay = new Map<string, UnderWay>();

  function check(counters: readonly AttemptCounter[]): void {
    if (full.size === 0) return;
    const at = now();
    for (const { id } of counters) {
      const found = full.get(id);
      if (found && found.until > at) throw new TooManyAttemptsError(found.end - at);
      if (found) full.delete(id);
    }
  }

  function refuse({ id, expiresAt: end }: { readonly id: string; readonly expiresAt: Seconds }): never {
    const at = now();
    full.set(id, { end, until: Math.min(end, at + remembered) });
    throw new TooManyAttemptsError(end - at);
  }

  function acquire({ id }: AttemptCounter): UnderWay {
    const found = underWay.get(id) ?? { counting: 0, counted: 0, ended: 0, waiting: [], references: 0 };
    found.references += 1;
    underWay.set(id, found);
    return found;
  }

  function release(counters: readonly AttemptCounter[]): void {
    for (const { id } of counters) {
      const found = underWay.get(id)!;
      found.references -= 1;
      if (found.references === 0) underWay.delete(id);
    }
  }

  /** @param all - the attempts under way of these counters, when the attempt may be given back */
  async function ask(
    counters: readonly AttemptCounter[],
    all: readonly UnderWay[] = [],
  ): Promise<CountedAttempt> {
    for (const each of all) each.counting += 1;
    try {
      const at = now();
      const counted = await store.count(counters, { now: at, expiresAt: at + window });
      // Before `counting` is reduced, so that an attempt that was counted is never taken for one that has ended.
      if (!counted.full) for (const each of all) each.counted += 1;
      return counted;
    } finally {
      for (const each of all) each.counting -= 1;
    }
  }

  return {
    check,
    async count(counters) {
      check(counters);
      const counted = await ask(counters);
      if (counted.full) refuse(counted.full);
    },
    async begin(counters) {
      const all = counters.map(acquire);
      try {
        for (;;) {
          check(counters);
          const endedBefore = all.map(({ ended }) => ended);
          const counted = await ask(counters, all);
          if (!counted.full) return counted.sequence;
          resumeIdle(all);
          const index = counters.findIndex(({ id }) => id === counted.full.id);
          const each = all[index]!;
          // An attempt that ended during the call may have been given back, so the count is tried again.
          if (each.ended !== endedBefore[index]) continue;
          if (isIdle(each)) refuse(counted.full);
          if (each.waiting.length >= MAX_WAITING) throw new TooManyAttemptsError(1);
          await new Promise<void>((resolve) => each.waiting.push(resolve));
        }
      } catch (error) {
        resumeIdle(all);
        release(counters);
        throw error;
      }
    },
    async end(counters, isGivenBack, reset = []) {
      try {
        if (isGivenBack) {
          const kept = counters.filter((counter) => !reset.includes(counter));
          await store.release(idsOf(kept), idsOf(reset));
        }
      } finally {
        for (const counter of counters) {
          const each = underWay.get(counter.id)!;
          each.counted -= 1;
          each.ended += 1;
          if (isGivenBack || each.counted === 0)
            resumeWaiting(each, reset.includes(counter) ? counter.limit : 1);
        }
        release(counters);
      }
    },
    get isEmpty() {
      return full.size === 0;
    },
  };
}

/** When no attempt is under way, no `end` will resume the next waiting attempt. */
function resumeIdle(all: readonly UnderWay[]): void {
  for (const each of all) if (isIdle(each)) resumeWaiting(each, 1);
}

function resumeWaiting({ waiting }: UnderWay, count: number): void {
  for (const resume of waiting.splice(0, count)) resume();
}

// While a call of the storage has not resolved, its attempt may be counted already and given back later: with
// several database connections, a later refusal can be answered first.
function isIdle({ counted, counting }: UnderWay): boolean {
  return counting === 0 && counted === 0;
}

function idsOf(counters: readonly AttemptCounter[]): string[] {
  return counters.map(({ id }) => id);
}
