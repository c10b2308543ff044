import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { ClientStore, ConsentStore, Logger, Storage } from '../contracts/index.ts';

/** The storage, with tracking of the writes of last uses, for which no request waits. */
export interface LastUses {
  readonly clients: Pick<ClientStore, 'find' | 'rehashSecret' | 'touchSecret'>;
  readonly consents: Pick<ConsentStore, 'touch'>;
  /** Resolves when the pending writes have succeeded or failed. */
  written(): Promise<void>;
}

export function trackLastUses({ clients, consents }: Pick<Storage, 'clients' | 'consents'>): LastUses {
  const pending = new Set<Promise<unknown>>();

  async function track<T>(write: Promise<T>): Promise<T> {
    pending.add(write);
    try {
      return await write;
    } finally {
      pending.delete(write);
    }
  }

  return {
    clients: {
      find: async (...given) => clients.find(...given),
      rehashSecret: async (...given) => clients.rehashSecret(...given),
      touchSecret: async (...given) => track(clients.touchSecret(...given)),
    },
    consents: { touch: async (...given) => track(consents.touch(...given)) },
    async written() {
      await Promise.allSettled(pending);
    },
  };
}

// In seconds. "Last used" is shown with this precision, and an app may act for a user many times a second.
const INTERVAL = 3600;

// After a start the cache is empty, so that every user's first request would write. The limit leaves the database to the
// requests.
const MAX_PENDING = 4;

/** Records that a client acts for a user, at most once an hour. Never throws or waits; a record may be lost. */
export type RecordUse = (userId: string, clientId: string) => void;

export function createRecordUse(consents: Pick<ConsentStore, 'touch'>, logger: Logger): RecordUse {
  const recordedAt = new LRUCache<string, number>(CACHE_BOUND);
  let pending = 0;

  return function recordUse(userId, clientId) {
    const key = `${clientId} ${userId}`;
    const at = now();
    if (at - (recordedAt.get(key) ?? 0) < INTERVAL || pending >= MAX_PENDING) return;
    recordedAt.set(key, at);
    pending += 1;
    consents
      .touch(userId, clientId, at)
      .catch((error: unknown) => {
        logger.warn(
          { err: error, client_id: clientId },
          'recording the last use of an authorized app failed',
        );
      })
      .finally(() => {
        pending -= 1;
      });
  };
}
