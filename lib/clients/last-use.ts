import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { ClientStore, ConsentStore, Logger, Storage } from '../contracts/index.ts';

/** The storage for those who note when something was last used, which no request waits for. */
export interface LastUses {
  readonly clients: Pick<ClientStore, 'find' | 'rehashSecret' | 'touchSecret'>;
  readonly consents: Pick<ConsentStore, 'touch'>;
  /** Resolves when the notes under way are written, or have failed. */
  written(): Promise<void>;
}

export function followLastUses({ clients, consents }: Pick<Storage, 'clients' | 'consents'>): LastUses {
  const underway = new Set<Promise<unknown>>();

  async function follow<T>(write: Promise<T>): Promise<T> {
    underway.add(write);
    try {
      return await write;
    } finally {
      underway.delete(write);
    }
  }

  return {
    clients: {
      find: async (...given) => clients.find(...given),
      rehashSecret: async (...given) => clients.rehashSecret(...given),
      touchSecret: async (...given) => follow(clients.touchSecret(...given)),
    },
    consents: { touch: async (...given) => follow(consents.touch(...given)) },
    async written() {
      await Promise.allSettled(underway);
    },
  };
}

// In seconds. "Last used" needs no more, and an app may act for a user many times a second.
const INTERVAL = 3600;

// After a start nothing is remembered. The database is there for the requests first.
const MOST_UNDERWAY = 4;

/** Notes that a client acts for a user, once an hour. Never throws, never waits; a note may be lost. */
export type RecordUse = (userId: string, clientId: string) => void;

export function createRecordUse(consents: Pick<ConsentStore, 'touch'>, logger: Logger): RecordUse {
  const notedAt = new LRUCache<string, number>(CACHE_BOUND);
  let underway = 0;

  return function recordUse(userId, clientId) {
    const key = `${clientId} ${userId}`;
    const at = now();
    if (at - (notedAt.get(key) ?? 0) < INTERVAL || underway >= MOST_UNDERWAY) return;
    notedAt.set(key, at);
    underway += 1;
    consents
      .touch(userId, clientId, at)
      .catch((error: unknown) => {
        logger.warn(
          { err: error, client_id: clientId },
          'recording the last use of an authorized app failed',
        );
      })
      .finally(() => {
        underway -= 1;
      });
  };
}
