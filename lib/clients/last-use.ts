import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type {
  AuditLog,
  ClientSecret,
  Grant,
  Logger,
  PersonalToken,
  PersonalTokenUse,
  Seconds,
  Storage,
} from '../contracts/index.ts';
import { addressOf } from '../http/address.ts';
import { knownAddress } from '../http/sender.ts';
import { createWriteQueue } from './write-queue.ts';

// In seconds. "Last used" is shown with this precision: a client may authenticate, or act for a user, many times a second.
const SECRET_INTERVAL = 60;
const APP_INTERVAL = 3600;
const PERSONAL_TOKEN_INTERVAL = 3600;

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
  /** Records that a personal access token was used, at most once an hour for each network. Never throws. */
  readonly personalTokenUsed: (
    token: Pick<PersonalToken, 'id' | 'name' | 'userId'>,
    from: Pick<PersonalTokenUse, 'address' | 'network'>,
  ) => void;
  /** Resolves when the recorded uses are written. Those after one that fails are left. */
  written(this: void): Promise<void>;
}

interface WaitingUse {
  /** What names it in the log. */
  readonly about: Readonly<Record<string, string>>;
  readonly what: 'a client secret' | 'an authorized app' | 'a personal access token';
  readonly write: () => Promise<void>;
}

export function createLastUses(
  {
    clients,
    consents,
    grants,
    personalTokens,
  }: Pick<Storage, 'clients' | 'consents' | 'grants' | 'personalTokens'>,
  { audit, logger }: { readonly audit: Pick<AuditLog, 'record'>; readonly logger: Logger },
): LastUses {
  const secretsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const appsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const grantsUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const tokensUsedAt = new LRUCache<string, Seconds>(CACHE_BOUND);
  const { add, isFull, written } = createWriteQueue<WaitingUse>(async (waiting) => {
    const { about, what, write } = waiting.shift()!;
    try {
      await write();
      return true;
    } catch (error) {
      logger.warn({ err: error, ...about }, `recording the last use of ${what} failed`);
      return false;
    }
  });

  return {
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
    personalTokenUsed({ id, name, userId }, { address, network }) {
      const at = now();
      const key = `${id} ${network}`;
      const before = tokensUsedAt.get(key) ?? 0;
      if (at - before < PERSONAL_TOKEN_INTERVAL || isFull()) return;
      tokensUsedAt.set(key, at);
      const write = async (): Promise<void> => {
        const known = addressOf(address) ?? '';
        const isNew = await personalTokens.recordUse(id, { at, address: knownAddress(known), network });
        if (isNew) audit.record({ type: 'personal_token_used', userId, tokenId: id, name }, { address });
      };
      add({ about: { token_id: id }, what: 'a personal access token', write });
    },
    written,
  };
}
