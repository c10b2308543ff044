import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { ClientSecret, Grant, Logger, Seconds, Storage } from '../contracts/index.ts';
import { createWriteQueue } from './write-queue.ts';
import type { WriteQueue } from './write-queue.ts';

// In seconds. "Last used" is shown with this precision: a client may authenticate, or act for a user, many times a second.
const SECRET_INTERVAL = 60;
const APP_INTERVAL = 3600;

/**
 * Records when secrets and authorized apps were last used. No request waits for the writes, which are made one at a time within
 * seconds, and a record may be lost.
 */
export interface LastUses {
  /** Records that a client has authenticated with a secret, at most once a minute. Never throws. */
  readonly secretUsed: (clientId: string, secret: Pick<ClientSecret, 'id' | 'lastUsedAt'>) => void;
  /**
   * Records that a client acts for a user, at most once an hour. Never throws.
   *
   * @param since - when the grant, or its access token, was issued: a use within an hour of that is none that has
   * to be recorded, so that a login writes nothing more
   */
  readonly appUsed: (grant: Pick<Grant, 'id' | 'userId' | 'clientId'>, since: Seconds) => void;
  /** For uses of other things. */
  readonly queue: WriteQueue<WaitingUse>;
  /** Resolves when the recorded uses are written. Those after one that fails are left. */
  written(this: void): Promise<void>;
}

/** A use that is to be written. */
export interface WaitingUse {
  /** What names it in the log. */
  readonly about: Readonly<Record<string, string>>;
  readonly what: string;
  readonly write: () => Promise<void>;
}

export function createLastUses(
  { clients, consents, grants }: Pick<Storage, 'clients' | 'consents' | 'grants'>,
  { logger }: { readonly logger: Logger },
): LastUses {
  const secretsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const appsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const grantsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const queue = createWriteQueue<WaitingUse>(async (waiting) => {
    const { about, what, write } = waiting.shift()!;
    try {
      await write();
      return true;
    } catch (error) {
      logger.warn({ err: error, ...about }, `recording the last use of ${what} failed`);
      return false;
    }
  });

  const { add, isFull, written } = queue;

  return {
    queue,
    secretUsed(clientId, { id, lastUsedAt }) {
      const at = now();
      const before = secretsUsedAt.get(id) ?? lastUsedAt ?? 0;
      if (at - before < SECRET_INTERVAL || isFull()) return;
      secretsUsedAt.set(id, at);
      const write = async (): Promise<void> => clients.touchSecret(clientId, id, at);
      add({ about: { client_id: clientId }, what: 'a client secret', write });
    },
    appUsed({ clientId, id, userId }, since) {
      const at = now();
      const recordUse = (
        used: LRUCache<string, number>,
        key: string,
        before: Seconds,
        write: () => Promise<void>,
      ): void => {
        if (at - (used.get(key) ?? before) < APP_INTERVAL || isFull()) return;
        used.set(key, at);
        add({ about: { client_id: clientId }, what: 'an authorized app', write });
      };
      recordUse(appsUsedAt, `${clientId} ${userId}`, 0, async () => consents.touch(userId, clientId, at));
      recordUse(grantsUsedAt, id, since, async () => grants.touch(id, at));
    },
    written,
  };
}
