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
export interface AttemptQueue {
  /** @throws TooManyAttemptsError when this node knows that there is none left */
  check(id: string): void;
  /** Takes an attempt, to be ended by `end`. @throws TooManyAttemptsError when there is none left */
  take(id: string): Promise<void>;
  end(id: string, ending: Ending): Promise<void>;
}

interface Queue {
  /** How many have been taken and not ended. */
  underway: number;
  ended: number;
  readonly waiting: (() => void)[];
  /** How many look at this object. */
  users: number;
}

/**
 * @param blocked - may be shared with other attempts, since an id names what is counted
 * @param window - in seconds
 */
export function createAttemptQueue(
  store: AttemptStore,
  {
    limit,
    blocked,
    window,
  }: { readonly limit: number; readonly blocked: BlockedAttempts; readonly window: number },
): AttemptQueue {
  const queues = new Map<string, Queue>();

  function enter(id: string): Queue {
    const queue = queues.get(id) ?? { underway: 0, ended: 0, waiting: [], users: 0 };
    queue.users += 1;
    queues.set(id, queue);
    return queue;
  }

  function leave(id: string, queue: Queue): void {
    queue.users -= 1;
    if (queue.users === 0) queues.delete(id);
  }

  function wake(queue: Queue, count: number): void {
    for (const go of queue.waiting.splice(0, count)) go();
  }

  async function countIn(id: string, queue: Queue): Promise<void> {
    for (;;) {
      blocked.check(id);
      const { ended } = queue;
      const at = now();
      const end = await store.count(id, { limit, now: at, expiresAt: at + window });
      if (end === undefined) return;
      // One that has ended since may have made room.
      if (queue.ended !== ended) continue;
      if (queue.underway === 0) blocked.refuse(id, end);
      if (queue.waiting.length >= MOST_WAITING) throw new TooManyAttemptsError(1);
      await new Promise<void>((resolve) => queue.waiting.push(resolve));
    }
  }

  return {
    check: (id) => blocked.check(id),
    async take(id) {
      const queue = enter(id);
      try {
        await countIn(id, queue);
        queue.underway += 1;
      } catch (error) {
        // The next one learns the same, when there is nobody else to learn it from.
        if (queue.underway === 0) wake(queue, 1);
        leave(id, queue);
        throw error;
      }
    },
    async end(id, ending) {
      const queue = queues.get(id);
      if (!queue) throw new Error('An attempt is ended once, after it was taken');
      try {
        if (ending === 'given back') await store.giveBack(id);
        if (ending === 'forgotten') await store.forget(id);
      } finally {
        queue.underway -= 1;
        queue.ended += 1;
        if (ending === 'forgotten') wake(queue, limit);
        else if (ending === 'given back' || queue.underway === 0) wake(queue, 1);
        leave(id, queue);
      }
    },
  };
}

/** What this node refuses without asking the storage, so that a flood of what is refused costs no work there. */
interface BlockedAttempts {
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
export function createBlockedAttempts(memory: number): BlockedAttempts {
  const remembered = new LRUCache<string, { readonly end: number; readonly until: number }>(CACHE_BOUND);

  return {
    check(id) {
      const block = remembered.get(id);
      if (!block) return;
      const at = now();
      if (block.until > at) throw new TooManyAttemptsError(block.end - at);
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
