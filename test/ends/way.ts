import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';

import { around } from '../harness/storage.ts';

/** What a caller learns of an end: that it is not known whether it lasts, or anything else. */
export type Outcome = 'unknown' | 'answered';

/** A way to end something. */
export interface Way {
  readonly end: () => Promise<Outcome>;
  /** Whether what is ended works. */
  readonly works: () => Promise<boolean>;
}

/** Each makes what is ended. A name begins with the public function, or with the method and the path. */
export type Ways = Readonly<Record<string, () => Promise<Way>>>;

const NOT_REPLICATED = 'The database committed a change without its synchronous standby.';

/** Calls that change something, besides those for which no request waits, and confirm(). */
const CHANGES =
  /^confirm$|\.(?:add|approve|delete|deny|erase|expire|insert|removeToken|replace|retire|revoke|save|update)|\.end(?:Others)?$/;

/** A storage of which it is not known whether its changes last, while `isLost`. */
export function unconfirmed(storage: Storage): {
  readonly storage: Storage;
  readonly state: { isLost: boolean };
} {
  const state = { isLost: false };
  return {
    state,
    storage: around(storage, async (name, call) => {
      const result = await call();
      if (state.isLost && CHANGES.test(name)) throw new StorageError(NOT_REPLICATED);
      return result;
    }),
  };
}

/** A way of the host. */
export function byHost(call: () => Promise<unknown>, works: Way['works']): Way {
  return {
    works,
    async end() {
      try {
        await call();
        return 'answered';
      } catch (error) {
        const { code, message, status } = error as StorageError;
        if (code !== 'ERR_STORAGE' || status !== 503 || message !== NOT_REPLICATED) throw error;
        return 'unknown';
      }
    },
  };
}

/** A way by a request. */
export function byRequest(send: () => Promise<{ readonly status: number }>, works: Way['works']): Way {
  return {
    works,
    async end() {
      const { status } = await send();
      if (status > 500 && status !== 503) throw new Error(`answered ${status}`);
      return status === 503 ? 'unknown' : 'answered';
    },
  };
}
