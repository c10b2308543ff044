import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptStore } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';

// For one and the same account or address: more than that is nobody who signs in.
const MOST_WAITING = 250;

/** What became of an attempt: it stays counted, it is taken back, or all of them are. */
export type Ending = 'counted' | 'given back' | 'forgotten';

/**
 * Hands out attempts before it is known whether they are right, so that many at once get no more than there are.
 *
 * While attempts are under way that may still be given back, the next ones wait for them: forty pupils who sign in at
 * the same moment from one address with the right passwords all get in.
 */
export interface Turns {
  /** @throws TooManyAttemptsError when this node knows that there is none left */
  check(id: string): void;
  /** Takes an attempt, to be ended by `end`. @throws TooManyAttemptsError when there is none left */
  take(id: string): Promise<void>;
  end(id: string, ending: Ending): Promise<void>;
}

interface Line {
  /** How many have been taken and not ended. */
  underway: number;
  ended: number;
  readonly waiting: (() => void)[];
  /** How many look at this object. */
  users: number;
}

/**
 * @param refusals - may be shared with other attempts, since an id names what is counted
 * @param window - in seconds
 */
export function createTurns(
  store: AttemptStore,
  {
    limit,
    refusals,
    window,
  }: { readonly limit: number; readonly refusals: Refusals; readonly window: number },
): Turns {
  const lines = new Map<string, Line>();

  function enter(id: string): Line {
    const line = lines.get(id) ?? { underway: 0, ended: 0, waiting: [], users: 0 };
    line.users += 1;
    lines.set(id, line);
    return line;
  }

  function leave(id: string, line: Line): void {
    line.users -= 1;
    if (line.users === 0) lines.delete(id);
  }

  function wake(line: Line, count: number): void {
    for (const go of line.waiting.splice(0, count)) go();
  }

  async function countIn(id: string, line: Line): Promise<void> {
    for (;;) {
      refusals.check(id);
      const { ended } = line;
      const at = now();
      const end = await store.count(id, { limit, now: at, expiresAt: at + window });
      if (end === undefined) return;
      // One that has ended since may have made room.
      if (line.ended !== ended) continue;
      if (line.underway === 0) refusals.refuse(id, end);
      if (line.waiting.length >= MOST_WAITING) throw new TooManyAttemptsError(1);
      await new Promise<void>((resolve) => line.waiting.push(resolve));
    }
  }

  return {
    check: (id) => refusals.check(id),
    async take(id) {
      const line = enter(id);
      try {
        await countIn(id, line);
        line.underway += 1;
      } catch (error) {
        // The next one learns the same, when there is nobody else to learn it from.
        if (line.underway === 0) wake(line, 1);
        leave(id, line);
        throw error;
      }
    },
    async end(id, ending) {
      const line = lines.get(id);
      if (!line) throw new Error('An attempt is ended once, after it was taken');
      try {
        if (ending === 'given back') await store.giveBack(id);
        if (ending === 'forgotten') await store.forget(id);
      } finally {
        line.underway -= 1;
        line.ended += 1;
        if (ending === 'forgotten') wake(line, limit);
        else if (ending === 'given back' || line.underway === 0) wake(line, 1);
        leave(id, line);
      }
    },
  };
}

/** What this node refuses without asking the storage, so that a flood of what is refused costs no work there. */
interface Refusals {
  /** @throws TooManyAttemptsError when it was refused a moment ago */
  check(id: string): void;
  /** Remembers that there is none left. @throws TooManyAttemptsError always */
  refuse(id: string, end: number): never;
  readonly isEmpty: boolean;
}

/**
 * @param memory - in seconds, for how long a refusal is remembered at most: an attempt that another node gives back is
 * noticed no earlier
 */
export function createRefusals(memory: number): Refusals {
  const remembered = new LRUCache<string, { readonly end: number; readonly until: number }>(CACHE_BOUND);

  return {
    check(id) {
      const refusal = remembered.get(id);
      if (!refusal) return;
      const at = now();
      if (refusal.until > at) throw new TooManyAttemptsError(refusal.end - at);
      remembered.delete(id);
    },
    refuse(id, end) {
      const at = now();
      remembered.set(id, { end, until: Math.min(end, at + memory) });
      throw new TooManyAttemptsError(end - at);
    },
    get isEmpty() {
      return remembered.size === 0;
    },
  };
}
