import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import { TooManyAttemptsError } from '../errors.ts';

/** What this node refuses without asking the storage, so that a flood of what is refused costs no work there. */
export interface Refusals {
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
