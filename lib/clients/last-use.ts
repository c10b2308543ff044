import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { ClientSecret, Grant, Logger, Milliseconds, Seconds, Storage } from '../contracts/index.ts';

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
   * @param since - when the grant, or its access token, was issued: a use within an hour after that need not be recorded, so that a login
   * writes nothing more
   */
  readonly appUsed: (grant: Pick<Grant, 'id' | 'userId' | 'clientId'>, since: Seconds) => void;
  /** The queue, for features that record other uses. */
  readonly queue: WriteQueue<WaitingUse>;
  /** Resolves when the recorded uses are written. After a write that fails, the rest is left. */
  written(this: void): Promise<void>;
}

/** A use that is to be written. */
export interface WaitingUse {
  /** The fields that identify the use in the log. */
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

// The time from the first addition until the write.
const DELAY: Milliseconds = 1000;

// After a start, every user's first request adds something. Beyond this number, an addition is left to a later request.
const MOST_WAITING = 10_000;

/**
 * Writes what requests record besides their work. No request waits for these writes; they are made within seconds, one at a time, and may
 * be lost.
 */
export interface WriteQueue<T> {
  /** Whether nothing more can be added at the moment. */
  isFull(this: void): boolean;
  add(this: void, one: T): void;
  /** Resolves when all is written. After a failure, the rest waits for the next addition. */
  written(this: void): Promise<void>;
}

/**
 * @param writeNext - takes what it writes out of `waiting`, and resolves to `false` when the write failed: the storage may be
 * unreachable, and each further write would then wait for it
 */
export function createWriteQueue<T>(writeNext: (waiting: T[]) => Promise<boolean>): WriteQueue<T> {
  const waiting: T[] = [];
  let timer: NodeJS.Timeout | undefined;
  let writing: Promise<void> | undefined;

  async function startWriting(): Promise<void> {
    writing ??= writeAll().finally(() => {
      writing = undefined;
    });
    return writing;
  }

  async function writeAll(): Promise<void> {
    let isGoingOn = true;
    while (isGoingOn && waiting.length > 0) isGoingOn = await writeNext(waiting);
  }

  return {
    isFull: () => waiting.length >= MOST_WAITING,
    add(one) {
      waiting.push(one);
      timer ??= setTimeout(() => {
        timer = undefined;
        void startWriting();
      }, DELAY).unref();
    },
    async written() {
      await writing;
      // Another caller that waited may have begun the next write.
      if (writing || waiting.length > 0) await startWriting();
    },
  };
}
