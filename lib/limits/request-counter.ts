import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AttemptStore, CallerQuota, RequestCounter, RequestPolicy } from '../contracts/index.ts';
import type { IdOf } from './limiter.ts';

/**
 * Counts requests under limits that hold for all nodes together, without a write for each request. A node takes a share of the
 * limit from the storage with one conditional write, and serves requests from this share. Shares are never more than the limit
 * in total, so that no number of nodes accepts more requests than the limit. What a node has taken and not used is missing
 * elsewhere, so shares begin small and grow with what the node has used.
 *
 * The windows of a caller begin with a request, so that the windows of different callers do not all end at the same moment.
 *
 * @param onRefused - called for each refused request
 */
export function createRequestCounter(
  store: Pick<AttemptStore, 'reserve'>,
  { ids, onRefused }: { readonly ids: () => IdOf; readonly onRefused: () => void },
): RequestCounter {
  const callersByPolicy = new Map<string, LRUCache<string, Quota>>();

  return {
    quotasOf(policy) {
      const { name, requests, window } = policy;
      const parts = [name, String(requests), String(window)] as const;
      const key = JSON.stringify(parts);
      const callers = callersByPolicy.get(key) ?? new LRUCache<string, Quota>(CACHE_BOUND);
      callersByPolicy.set(key, callers);
      return function quotaOf(caller) {
        let quota = callers.get(caller);
        if (!quota) {
          quota = new Quota(store, ids()(['requests', ...parts, caller]), policy);
          callers.set(caller, quota);
        }
        return quota;
      };
    },
    refused: onRefused,
  };
}

/** Of the limit, that a node takes first. The least that it takes afterwards, too. */
const FIRST_SHARE = 1 / 50;

/** Of the requests that a node has served in the window, that it takes next. */
const NEXT_SHARE = 1 / 10;

/** The requests of one caller under one limit, as this node knows them. */
class Quota implements CallerQuota {
  readonly #store: Pick<AttemptStore, 'reserve'>;
  readonly #id: string;
  readonly #policy: RequestPolicy;
  /** When the window ends, in seconds since 1970. */
  #end = 0;
  /** Taken from the storage, and not used. */
  #available = 0;
  /** Used by this node in the window. */
  #used = 0;
  /** Left in the storage after this node has last taken from it. When it is 0, it remains 0 until the window ends. */
  #left = 0;
  /** The sum of the requests that wait for the storage. */
  #waiting = 0;
  #taking: Promise<void> | undefined;

  constructor(store: Pick<AttemptStore, 'reserve'>, id: string, policy: RequestPolicy) {
    this.#store = store;
    this.#id = id;
    this.#policy = policy;
  }

  get remaining(): number {
    return this.#isOpen ? this.#available + this.#left : this.#policy.requests;
  }

  get seconds(): number {
    return this.#isOpen ? this.#end - now() : this.#policy.window;
  }

  // Not async: a request that the node's share suffices for needs no promise.
  take(count: number): number | undefined | Promise<number | undefined> {
    if (!this.#isOpen) return this.#takeFromStore(count);
    if (this.#available >= count) return this.#use(count);
    return this.#left === 0 ? undefined : this.#takeFromStore(count);
  }

  giveBack(count: number, window: number): void {
    if (window !== this.#end) return;
    this.#available += count;
    this.#used -= count;
  }

  get #isOpen(): boolean {
    return now() < this.#end;
  }

  #use(count: number): number {
    this.#available -= count;
    this.#used += count;
    return this.#end;
  }

  async #takeFromStore(count: number): Promise<number | undefined> {
    this.#waiting += count;
    try {
      // What other requests have begun to take may not suffice for this one too.
      do await (this.#taking ??= this.#takeShare());
      while (this.#available < count && this.#left > 0);
    } finally {
      this.#waiting -= count;
    }
    return this.#available < count ? undefined : this.#use(count);
  }

  async #takeShare(): Promise<void> {
    const { requests, window } = this.#policy;
    const at = now();
    if (at >= this.#end) this.#begin(0);
    const share = Math.ceil(Math.max(requests * FIRST_SHARE, this.#used * NEXT_SHARE));
    try {
      const { expiresAt, left, reserved } = await this.#store.reserve(
        { id: this.#id, limit: requests },
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

  #begin(end: number): void {
    this.#end = end;
    this.#available = 0;
    this.#used = 0;
  }
}
