import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptStore, CallerLimit, CallerLimiter, LimitCallers, Seconds } from '../contracts/index.ts';
import type { IdOf } from './limiter.ts';

/**
 * Counts requests under limits that hold for all nodes together, without a write for each request. A node takes a share of the limit from
 * the storage with one conditional write, and serves requests from this share. Shares are never more than the limit in total, so that no
 * number of nodes accepts more requests than the limit. Requests that a node has reserved and does not use are missing on other nodes, so
 * shares begin small and grow with what the node has used.
 *
 * The windows of a caller begin with a request, so that the windows of different callers do not all end at the same moment.
 *
 * @param onRefused - called for each refused request
 */
export function createLimitCallers(
  store: Pick<AttemptStore, 'reserve'>,
  { ids, onRefused }: { readonly ids: () => IdOf; readonly onRefused: () => void },
): LimitCallers {
  const callersByLimit = new Map<string, LRUCache<string, Caller>>();

  return function limitCallers(limit) {
    const parts = [limit.name, String(limit.requests), String(limit.window)] as const;
    const key = JSON.stringify(parts);
    const callers = callersByLimit.get(key) ?? new LRUCache<string, Caller>(CACHE_BOUND);
    callersByLimit.set(key, callers);
    return function limiterOf(id) {
      let caller = callers.get(id);
      if (!caller) {
        caller = new Caller({ store, limit, onRefused, id: ids()(['requests', ...parts, id]) });
        callers.set(id, caller);
      }
      return caller;
    };
  };
}

/** The part of the limit that a node takes first, and the least that it takes afterwards. */
const FIRST_SHARE = 1 / 50;

/** The part of the requests that it has served in the window that a node takes next. */
const NEXT_SHARE = 1 / 10;

interface CallerParts {
  readonly store: Pick<AttemptStore, 'reserve'>;
  readonly id: string;
  readonly limit: CallerLimit;
  readonly onRefused: () => void;
}

/** The requests of one caller under one limit, as this node knows them. */
class Caller implements CallerLimiter {
  readonly #parts: CallerParts;
  /** When the window ends. */
  #end = 0;
  /** Requests that this node has taken from the storage and not used. */
  #available = 0;
  /** Requests that this node has used in the window. */
  #used = 0;
  /** Requests that were left in the storage when this node last took some. Once it is 0, it remains 0 until the window ends. */
  #left = 0;
  /** The sum of the requests that wait for the storage. */
  #waiting = 0;
  #taking: Promise<void> | undefined;

  constructor(parts: CallerParts) {
    this.#parts = parts;
  }

  get remaining(): number {
    return this.#isOpen ? this.#available + this.#left : this.#parts.limit.requests;
  }

  get seconds(): Seconds {
    return this.#isOpen ? this.#end - now() : this.#parts.limit.window;
  }

  // Not async: a request needs no promise when the node's share suffices.
  take(count: number): number | undefined | Promise<number | undefined> {
    if (!this.#isOpen) return this.#takeFromStore(count);
    if (this.#available >= count) return this.#use(count);
    return this.#left === 0 ? this.#refuse() : this.#takeFromStore(count);
  }

  giveBack(count: number, window: Seconds): void {
    if (window !== this.#end) return;
    this.#available += count;
    this.#used -= count;
  }

  get #isOpen(): boolean {
    return now() < this.#end;
  }

  #refuse(): undefined {
    this.#parts.onRefused();
  }

  #use(count: number): Seconds {
    this.#available -= count;
    this.#used += count;
    return this.#end;
  }

  async #takeFromStore(count: number): Promise<number | undefined> {
    this.#waiting += count;
    try {
      // The share that other requests have begun to take may not suffice for this request too.
      do await (this.#taking ??= this.#takeShare());
      while (this.#available < count && this.#left > 0);
    } finally {
      this.#waiting -= count;
    }
    return this.#available < count ? this.#refuse() : this.#use(count);
  }

  async #takeShare(): Promise<void> {
    const { id, limit, store } = this.#parts;
    const { requests, window } = limit;
    const at = now();
    if (at >= this.#end) this.#begin(0);
    const share = Math.ceil(Math.max(requests * FIRST_SHARE, this.#used * NEXT_SHARE));
    try {
      const { expiresAt, left, reserved } = await store.reserve(
        { id, limit: requests },
        {
          amount: Math.max(share, this.#waiting - this.#available),
          now: at,
          expiresAt: at + window,
        },
      );
      // By the clock of another node, the window has ended, and the next one has begun.
      if (expiresAt !== this.#end) this.#begin(expiresAt);
      this.#available += reserved;
      this.#left = left;
    } finally {
      this.#taking = undefined;
    }
  }

  #begin(end: Seconds): void {
    this.#end = end;
    this.#available = 0;
    this.#used = 0;
  }
}
