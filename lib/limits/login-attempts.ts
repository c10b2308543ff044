import type { AttemptCounter, CountedAttempt } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import type { Limiter } from './limiter.ts';

// For one counter. More concurrent logins of one account, or from one address, are treated as an attack.
const MAX_WAITING = 250;

/**
 * Takes attempts that may be given back. When a counter is full while attempts are under way that may still be given back, further
 * attempts wait for them: forty users who log in at the same moment from one address, with the right passwords, all succeed
 * although the limit is lower.
 */
export interface AttemptsUnderWay {
  /**
   * Counts an attempt before its password is checked, so that concurrent attempts cannot exceed the limit. Call `end` once for it.
   *
   * @returns the sequence of the revocations at that moment
   * @throws TooManyAttemptsError when one of the counters is full
   */
  take(counters: readonly AttemptCounter[]): Promise<number>;
  /**
   * Ends an attempt that was taken: it stays counted, or is given back.
   *
   * @param reset - those of the counters whose other attempts are given back too
   */
  end(
    counters: readonly AttemptCounter[],
    isGivenBack: boolean,
    reset?: readonly AttemptCounter[],
  ): Promise<void>;
}

/** The attempts of one counter on this node. */
interface UnderWay {
  /** The number of calls of `limiter.count` that have not resolved. */
  counting: number;
  /** The number of attempts that were taken and not ended. */
  taken: number;
  /** The number of attempts that have ended. */
  ended: number;
  readonly waiting: (() => void)[];
  /** The number of calls that use this object; it is deleted when none is left. */
  references: number;
}

export function createAttemptsUnderWay(limiter: Limiter): AttemptsUnderWay {
  const byId = new Map<string, UnderWay>();

  function acquire({ id }: AttemptCounter): UnderWay {
    const found = byId.get(id) ?? { counting: 0, taken: 0, ended: 0, waiting: [], references: 0 };
    found.references += 1;
    byId.set(id, found);
    return found;
  }

  function release(counters: readonly AttemptCounter[]): void {
    for (const { id } of counters) {
      const found = byId.get(id)!;
      found.references -= 1;
      if (found.references === 0) byId.delete(id);
    }
  }

  async function count(
    counters: readonly AttemptCounter[],
    all: readonly UnderWay[],
  ): Promise<CountedAttempt> {
    for (const each of all) each.counting += 1;
    try {
      const counted = await limiter.count(counters);
      // Before `counting` is reduced, so that an attempt that was counted is never taken for one that has ended.
      if (!counted.full) for (const each of all) each.taken += 1;
      return counted;
    } finally {
      for (const each of all) each.counting -= 1;
    }
  }

  async function takeOf(counters: readonly AttemptCounter[], all: readonly UnderWay[]): Promise<number> {
    for (;;) {
      limiter.check(counters);
      const endedBefore = all.map(({ ended }) => ended);
      const counted = await count(counters, all);
      if (!counted.full) return counted.sequence;
      wakeIdle(all);
      const { full } = counted;
      const index = counters.findIndex(({ id }) => id === full.id);
      const each = all[index]!;
      // An attempt that ended during the call may have been given back, so the count is tried again.
      if (each.ended !== endedBefore[index]) continue;
      if (isIdle(each)) limiter.refuse(full);
      if (each.waiting.length >= MAX_WAITING) throw new TooManyAttemptsError(1);
      await new Promise<void>((resolve) => each.waiting.push(resolve));
    }
  }

  return {
    async take(counters) {
      const all = counters.map(acquire);
      try {
        return await takeOf(counters, all);
      } catch (error) {
        wakeIdle(all);
        release(counters);
        throw error;
      }
    },
    async end(counters, isGivenBack, reset = []) {
      try {
        if (isGivenBack) await limiter.giveBack(counters, reset);
      } finally {
        for (const counter of counters) {
          const each = byId.get(counter.id)!;
          each.taken -= 1;
          each.ended += 1;
          if (isGivenBack || each.taken === 0) wake(each, reset.includes(counter) ? counter.limit : 1);
        }
        release(counters);
      }
    },
  };
}

/** When none is under way, no `end` resumes the next waiting attempt. */
function wakeIdle(all: readonly UnderWay[]): void {
  for (const each of all) if (isIdle(each)) wake(each, 1);
}

function wake({ waiting }: UnderWay, count: number): void {
  for (const resume of waiting.splice(0, count)) resume();
}

// While a call of `limiter.count` has not resolved, its attempt may be counted already and given back later: with several
// database connections, a later refusal can be answered first.
function isIdle({ counting, taken }: UnderWay): boolean {
  return counting === 0 && taken === 0;
}
