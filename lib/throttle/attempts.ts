import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptStore } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';

// For one id. More concurrent logins of one account, or from one address, are treated as an attack.
const MAX_WAITING = 250;

/** How an attempt ends: it remains counted, it is subtracted from the counter, or the counter is reset. */
export type Ending = 'counted' | 'given back' | 'forgotten';

/**
 * Counts attempts before their passwords are checked, so that concurrent attempts cannot exceed the limit.
 *
 * When the limit is reached while attempts are under way that may still be given back, further attempts wait for them. Forty
 * users who log in at the same moment from one address, with the right passwords, all succeed although the limit is lower.
 */
export interface AttemptQueue {
  /** Reads no storage. @throws TooManyAttemptsError when this node remembers that no attempt is left */
  check(id: string): void;
  /** Counts an attempt; call `end` once for it. @throws TooManyAttemptsError when no attempt is left */
  take(id: string): Promise<void>;
  end(id: string, ending: Ending): Promise<void>;
}

interface Queue {
  /** The number of calls of `store.count` that have not resolved. */
  counting: number;
  /** The number of attempts that were taken and not ended. */
  underway: number;
  /** The number of attempts that have ended. */
  ended: number;
  readonly waiting: (() => void)[];
  /** The number of calls that use this object; it is deleted when none is left. */
  references: number;
}

/**
 * @param blocked - may be shared by several queues, because ids are unique among them
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

  function acquire(id: string): Queue {
    const queue = queues.get(id) ?? { counting: 0, underway: 0, ended: 0, waiting: [], references: 0 };
    queue.references += 1;
    queues.set(id, queue);
    return queue;
  }

  function release(id: string, queue: Queue): void {
    queue.references -= 1;
    if (queue.references === 0) queues.delete(id);
  }

  function wake(queue: Queue, count: number): void {
    for (const resume of queue.waiting.splice(0, count)) resume();
  }

  async function countInStore(id: string, queue: Queue): Promise<number | undefined> {
    const at = now();
    queue.counting += 1;
    try {
      const end = await store.count(id, { limit, now: at, expiresAt: at + window });
      if (end === undefined) queue.underway += 1;
      return end;
    } finally {
      queue.counting -= 1;
    }
  }

  async function countAttempt(id: string, queue: Queue): Promise<void> {
    for (;;) {
      blocked.check(id);
      const { ended } = queue;
      const end = await countInStore(id, queue);
      if (end === undefined) return;
      // An attempt that ended during the call may have been given back, so the count is tried again.
      if (queue.ended !== ended) continue;
      if (isIdle(queue)) blocked.refuse(id, end);
      if (queue.waiting.length >= MAX_WAITING) throw new TooManyAttemptsError(1);
      await new Promise<void>((resolve) => queue.waiting.push(resolve));
    }
  }

  return {
    check: (id) => blocked.check(id),
    async take(id) {
      const queue = acquire(id);
      try {
        await countAttempt(id, queue);
      } catch (error) {
        // When the queue is idle, no `end` will resume the next waiting attempt.
        if (isIdle(queue)) wake(queue, 1);
        release(id, queue);
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
        release(id, queue);
      }
    },
  };
}

// While a call of `store.count` has not resolved, its attempt may be counted already and given back later: with several
// database connections, a later refusal can be answered first.
function isIdle({ counting, underway }: Queue): boolean {
  return counting === 0 && underway === 0;
}

/** The ids that this node refuses without reading the storage, so that a flood of refused attempts does not reach it. */
interface BlockedAttempts {
  /** @throws TooManyAttemptsError when the id is remembered as refused */
  check(id: string): void;
  /** Remembers that no attempt is left until `end`, in seconds since 1970. @throws TooManyAttemptsError always */
  refuse(id: string, end: number): never;
  readonly isEmpty: boolean;
}

/**
 * @param maxAge - in seconds. A refusal is remembered for this time at most, because an attempt that another node gives back is
 * only noticed afterwards
 */
export function createBlockedAttempts(maxAge: number): BlockedAttempts {
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
      remembered.set(id, { end, until: Math.min(end, at + maxAge) });
      throw new TooManyAttemptsError(end - at);
    },
    get isEmpty() {
      return remembered.size === 0;
    },
  };
}
