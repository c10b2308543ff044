import { setTimeout as waitFor } from 'node:timers/promises';

import { compare } from 'bcryptjs';
import { LRUCache } from 'lru-cache';

import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { ClientSecret, ClientStore, Logger, StoredClient } from '../contracts/index.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { hashCredential, matchesHash } from '../keys/hash.ts';
import { isGenerated } from './secrets.ts';

// A use is noted once a minute at most: "last used" needs no more, and a write per token would cost more than the token.
const TOUCH_INTERVAL = 60;

/** Clients as the hot paths need them: kept in memory for a while, forgotten at once when changed on this node. */
export interface ClientDirectory {
  find(id: string): Promise<StoredClient | undefined>;
  /**
   * Whether a presented secret is one of the client's live ones.
   *
   * @param admit - throws when too many guesses have failed. Called before each comparison with what can be guessed
   * @throws TooManyAttemptsError also when too many values of the client wait for a slow check
   */
  verifySecret(id: string, presented: string, admit: () => void): Promise<boolean>;
  forget(id: string): void;
}

/** @param maxAge - in seconds: how old a remembered client may be, so that a change on another node is seen */
export function createClientDirectory(
  store: Pick<ClientStore, 'find' | 'rehashSecret' | 'touchSecret'>,
  { maxAge, logger }: { maxAge: number; logger: Logger },
): ClientDirectory {
  const entries = new LRUCache<string, { stored: Promise<StoredClient | undefined>; loadedAt: number }>(
    CACHE_BOUND,
  );
  const notedAt = new LRUCache<string, number>(CACHE_BOUND);
  const runSlowCheck = createSlowChecks<ClientSecret>();

  async function find(id: string): Promise<StoredClient | undefined> {
    const entry = entries.get(id);
    if (entry && now() - entry.loadedAt < maxAge) return entry.stored;
    const stored = store.find(id);
    entries.set(id, { stored, loadedAt: now() });
    try {
      const found = await stored;
      // Ids that strangers make up must not fill the memory.
      if (!found) forget(id, stored);
      return found;
    } catch (error) {
      forget(id, stored);
      throw error;
    }
  }

  function forget(id: string, stored?: Promise<StoredClient | undefined>): void {
    if (stored === undefined || entries.get(id)?.stored === stored) entries.delete(id);
  }

  async function findLive(id: string): Promise<readonly ClientSecret[]> {
    return (await find(id))?.secrets.filter(isLive) ?? [];
  }

  async function findSecret(
    id: string,
    presented: string,
    admit: () => void,
  ): Promise<ClientSecret | undefined> {
    // Nobody can guess one of ours, and who has it gets in, however often strangers have failed in the client's name.
    const isOfOurForm = isGenerated(presented);
    if (!isOfOurForm) admit();
    const live = await findLive(id);
    const match = live.find(({ hash }) => matchesHash(presented, hash));
    if (match) return match;
    // Nor is anybody kept waiting by those that are made up: no value of this form was ever imported.
    if (isOfOurForm || !isWholeToBcrypt(presented)) return undefined;
    const imported = live.filter(({ hash }) => isBcryptHash(hash));
    if (imported.length === 0) return undefined;
    return runSlowCheck(id, presented, async () => {
      const found = await findBcryptSecret(presented, imported);
      return found && rehash(id, found, presented);
    });
  }

  /** Makes an imported secret one of ours, so that the slow check is made once. */
  async function rehash(
    id: string,
    secret: ClientSecret,
    presented: string,
  ): Promise<ClientSecret | undefined> {
    const to = hashCredential(presented);
    const isReplaced = await store.rehashSecret(id, secret.id, { from: secret.hash, to });
    forget(id);
    if (isReplaced) return secret;
    // Another request was first, or somebody has removed it while this one waited.
    return (await findLive(id)).find(({ hash }) => matchesHash(presented, hash));
  }

  async function verifySecret(id: string, presented: string, admit: () => void): Promise<boolean> {
    const match = await findSecret(id, presented, admit);
    if (match) recordUse(id, match);
    return match !== undefined;
  }

  function recordUse(id: string, secret: ClientSecret): void {
    const at = now();
    if (at - (notedAt.get(secret.id) ?? secret.lastUsedAt ?? 0) < TOUCH_INTERVAL) return;
    notedAt.set(secret.id, at);
    store.touchSecret(id, secret.id, at).catch((error: unknown) => {
      logger.warn({ err: error, client_id: id }, 'recording the last use of a client secret failed');
    });
  }

  return { find, verifySecret, forget: (id) => forget(id) };
}

function isLive(secret: ClientSecret): boolean {
  return secret.expiresAt === undefined || secret.expiresAt > now();
}

// As PHP and others write it, up to a cost of 15: the next one takes seconds.
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/;

/** Whether this is a bcrypt hash that values can be checked against. A secret has one until it is first used. */
export function isBcryptHash(hash: string): boolean {
  return BCRYPT.test(hash);
}

// bcrypt looks at no more of a value.
const LONGEST = 72;

/**
 * Whether bcrypt can tell a value from every other one: it leaves out what is behind the 72nd byte, and repeats a value with a
 * NUL at its end, so that `a` and `a\0a` are the same to it.
 */
function isWholeToBcrypt(value: string): boolean {
  return Buffer.byteLength(value) <= LONGEST && !value.includes('\0');
}

/**
 * Finds which of some secrets with bcrypt hashes a value is. Slow on purpose: each takes a quarter of a second at the
 * usual cost of 12, and the thread for up to 100 ms at a time.
 */
async function findBcryptSecret(
  presented: string,
  secrets: readonly ClientSecret[],
): Promise<ClientSecret | undefined> {
  for (const secret of secrets) if (await compare(presented, secret.hash)) return secret;
  return undefined;
}

// Different values of one client. Who has the right one tries again.
const MOST_WAITING = 8;

// In seconds.
const RETRY_AFTER = 5;

// After each wrong value, for so many times as long as its check took, the thread is left to other requests.
const REST = 4;

/**
 * Runs a check of a value that a client presents; `undefined`: it is wrong.
 *
 * @throws TooManyAttemptsError when too many values of the client wait
 */
export type RunSlowCheck<T> = (
  clientId: string,
  presented: string,
  check: () => Promise<T | undefined>,
) => Promise<T | undefined>;

interface Waiting<T> {
  readonly check: () => Promise<T | undefined>;
  readonly result: PromiseWithResolvers<T | undefined>;
}

/** Runs slow checks one at a time, each client in its turn, because anybody can send wrong values. */
function createSlowChecks<T>(): RunSlowCheck<T> {
  // By client, and by the hash of the value: who sends the same one at once shares the answer.
  const clients = new Map<string, Map<string, Waiting<T>>>();
  let isWorking = false;

  async function work(): Promise<void> {
    isWorking = true;
    // A client that is put in again goes to the end, where this same loop finds it.
    for (const [clientId, values] of clients) {
      const [value, { check, result }] = [...values][0]!;
      const startedAt = performance.now();
      result.resolve(check());
      const found = await result.promise.catch(() => undefined);
      const took = performance.now() - startedAt;
      values.delete(value);
      clients.delete(clientId);
      if (values.size > 0) clients.set(clientId, values);
      if (found === undefined) await waitFor(took * REST, undefined, { ref: false });
    }
    isWorking = false;
  }

  return async function runSlowCheck(clientId, presented, check) {
    const values = clients.get(clientId) ?? new Map<string, Waiting<T>>();
    const value = hashCredential(presented);
    let waiting = values.get(value);
    if (!waiting) {
      if (values.size >= MOST_WAITING) throw new TooManyAttemptsError(RETRY_AFTER);
      waiting = { check, result: Promise.withResolvers() };
      clients.set(clientId, values.set(value, waiting));
      if (!isWorking) void work();
    }
    return waiting.result.promise;
  };
}
