import { setTimeout as delay } from 'node:timers/promises';

import { compare } from 'bcryptjs';
import { LRUCache } from 'lru-cache';

import { toMilliseconds } from '../contracts/duration.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import { CACHE_BOUND } from '../contracts/cache-bound.ts';
import { now } from '../contracts/clock.ts';
import type { AuditOrigin, Client, StoredSecret, ClientStore, StoredClient } from '../contracts/index.ts';
import { isRegistered } from '../contracts/trust.ts';
import { TooManyAttemptsError } from '../errors.ts';
import { hashCredential, matchesHash } from '../keys/hash.ts';
import type { LastUses } from './last-use.ts';
import type { ClientSources } from '../contracts/client-sources.ts';
import type { ClientLookup, ClientSourceHooks } from './sources.ts';
import { SECRET_PREFIX } from './secrets.ts';

/** What happens while a presented secret is checked. */
export interface SecretChecks {
  checkAttempts(this: void): void;
  expired(this: void, secret: StoredSecret): void;
}

/** A cache of clients for the hot paths. A change on this node removes the client from it at once. */
export interface ClientDirectory {
  find(id: string): Promise<StoredClient | undefined>;
  /** The client with the time of its read, for values that are cached with the client and must not be used for longer than it. */
  findDated(this: void, id: string): Promise<DatedClient | undefined>;
  /**
   * Whether a presented secret is one of the client's unexpired ones.
   *
   * @param stored - the client, as found during the request
   * @param on.checkAttempts - throws when too many authentications have failed. It is called only when the value could be a guess; a
   * value in the form of a generated secret could not
   * @param on.expired - called with the secret when the value is that of an expired secret, which only the developer may learn
   * @throws TooManyAttemptsError also when too many values of the client wait for a bcrypt comparison
   */
  verifySecret(stored: StoredClient, presented: string, on: SecretChecks): Promise<boolean>;
  /** Removes a client, or all clients. */
  forget(id?: string): void;
  /**
   * Finds the client of an authorization request. A live source of clients looks its clients up.
   *
   * @param address - the address of the requester
   * @throws ClientSourceError when the client cannot be authorized
   * @throws TooManyAttemptsError when too many clients were looked up, or too many requests wait for a lookup
   */
  resolve(id: string, address: string): Promise<StoredClient | undefined>;
  /** Whether the client is stored. A client that is not was found by `resolve`, and no user has consented to it yet. */
  isStored(found: StoredClient): boolean;
  /** Stores a client that `resolve` has found, unless it is stored: on the first consent of a user. */
  keep(found: StoredClient, origin: AuditOrigin): Promise<void>;
  /** How the source of a client adds a consent to it; `undefined` when the consent is added like any other. */
  addConsent(client: Client): ClientSourceHooks['addConsent'];
}

/** A client, and the time when its read began: the client includes every earlier change. */
export interface DatedClient {
  readonly stored: StoredClient;
  readonly readAt: Milliseconds;
}

interface CachedClient {
  readonly stored: Promise<StoredClient | undefined>;
  readonly readAt: Milliseconds;
}

/**
 * @param given.hooks - what the sources of clients do on this server
 * @param given.sources - a client of a live source that is off, or of an unknown source, counts as deleted
 * @param given.maxAge - how old a cached client may be: after this time, a change on another node takes effect
 */
export function createClientDirectory(
  store: Pick<ClientStore, 'find' | 'rehashSecret'>,
  {
    hooks,
    maxAge,
    secretUsed,
    sources,
  }: {
    readonly hooks: readonly ClientSourceHooks[];
    readonly maxAge: Seconds;
    readonly sources: ClientSources;
  } & Pick<LastUses, 'secretUsed'>,
): ClientDirectory {
  const hooksOf = new Map(hooks.map((one) => [one.source, one]));
  // The lookups of the live sources.
  const lookups = hooks.flatMap(({ lookup }) => lookup ?? []);
  const lookupOf = ({ client }: StoredClient): ClientLookup | undefined => hooksOf.get(client.source)?.lookup;
  const entries = new LRUCache<string, CachedClient>(CACHE_BOUND);
  const runSlowCheck = createSlowChecks();

  function read(id: string): CachedClient {
    const known = entries.get(id);
    if (known && Date.now() - known.readAt < toMilliseconds(maxAge)) return known;
    const readAt = Date.now();
    const entry = { stored: findAdmitted(id), readAt };
    entries.set(id, entry);
    // Unknown ids are not cached, because random `client_id`s in requests would displace the clients.
    entry.stored.then(
      (found) => found ?? forget(id, entry),
      () => forget(id, entry),
    );
    return entry;
  }

  async function findAdmitted(id: string): Promise<StoredClient | undefined> {
    const found = await store.find(id);
    return found && isAdmitted(found.client, sources) ? found : undefined;
  }

  async function find(id: string): Promise<StoredClient | undefined> {
    const stored = await read(id).stored;
    for (const lookup of lookups) if (lookup.isOf(id)) return lookup.find(id, stored);
    return stored;
  }

  function forget(id: string, entry?: CachedClient): void {
    if (entry === undefined || entries.get(id) === entry) entries.delete(id);
  }

  async function findSecret(
    { client: { id }, secrets }: StoredClient,
    presented: string,
    { checkAttempts, expired }: SecretChecks,
  ): Promise<StoredSecret | undefined> {
    // A generated secret has 256 random bits. It is checked without the limit, so that failed requests of others in the
    // client's name cannot lock the client out.
    const hasGeneratedForm = GENERATED.test(presented);
    if (!hasGeneratedForm) checkAttempts();
    const unexpired = secrets.filter(isUnexpired);
    const match = findMatch(unexpired, presented);
    if (match) return match;
    const former = findMatch(secrets, presented);
    if (former) expired(former);
    // No imported secret has the generated form, so that wrong values of that form cause no slow bcrypt comparison.
    if (hasGeneratedForm || !isDistinctToBcrypt(presented)) return undefined;
    const imported = unexpired.filter(({ hash }) => isBcryptHash(hash));
    if (imported.length === 0) return undefined;
    return runSlowCheck(id, presented, async () => {
      // Slow by design: each comparison takes a quarter of a second at the usual cost of 12, and blocks the thread for up to 100 ms
      // at a time.
      for (const secret of imported)
        if (await compare(presented, secret.hash)) return rehash(id, secret, presented);
      return undefined;
    });
  }

  /** Replaces the bcrypt hash of an imported secret by a SHA-256 hash, so that bcrypt runs once per secret. */
  async function rehash(
    id: string,
    secret: StoredSecret,
    presented: string,
  ): Promise<StoredSecret | undefined> {
    const to = hashCredential(presented);
    const isReplaced = await store.rehashSecret(id, secret.id, { from: secret.hash, to });
    forget(id);
    if (isReplaced) return secret;
    // A concurrent request has replaced the hash, or the secret was deleted during the comparison.
    const changed = (await find(id))?.secrets.filter(isUnexpired) ?? [];
    return findMatch(changed, presented);
  }

  return {
    find,
    async findDated(id) {
      const { readAt, stored } = read(id);
      const found = await stored;
      return found && { stored: lookupOf(found)?.limit(found) ?? found, readAt };
    },
    async verifySecret(stored, presented, on) {
      const match = await findSecret(stored, presented, on);
      if (match) secretUsed(stored.client.id, match);
      return match !== undefined;
    },
    async resolve(id, address) {
      const lookup = lookups.find(({ isOf }) => isOf(id));
      return lookup ? lookup.resolve(id, address, async () => read(id).stored) : read(id).stored;
    },
    isStored: (found) => lookupOf(found)?.isStored(found) ?? true,
    async keep(found, origin) {
      await lookupOf(found)?.keep(found, origin);
    },
    addConsent: ({ source }) => hooksOf.get(source)?.addConsent,
    forget(id) {
      if (id === undefined) entries.clear();
      else forget(id);
    },
  };
}

/** Whether a client may be used. A client of an unknown source, such as of a feature that was removed, gets nothing. */
function isAdmitted(client: Client, { all, on }: ClientSources): boolean {
  return isRegistered(client) || on.has(client.source) || all.get(client.source)?.isLive === false;
}

const GENERATED = new RegExp(String.raw`^${SECRET_PREFIX}[\w-]{43}$`);

function findMatch(secrets: readonly StoredSecret[], presented: string): StoredSecret | undefined {
  return secrets.find(({ hash }) => matchesHash(presented, hash));
}

function isUnexpired(secret: StoredSecret): boolean {
  return secret.expiresAt === undefined || secret.expiresAt > now();
}

// The forms that PHP and others write, with a cost of at most 15: a comparison with a cost of 16 takes seconds.
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-5])\$[./A-Za-z0-9]{53}$/;

/** Whether a hash is a bcrypt hash that values are compared with. An imported secret has one until it is first used. */
export function isBcryptHash(hash: string): boolean {
  return BCRYPT.test(hash);
}

// In bytes. bcrypt ignores the rest of a value.
const BCRYPT_LENGTH = 72;

/**
 * Whether bcrypt distinguishes a value from every other value. bcrypt ignores the bytes after the 72nd, and it repeats a value up to that
 * length with a NUL in between, so that `a` and `a\0a` have the same hash.
 */
function isDistinctToBcrypt(value: string): boolean {
  return Buffer.byteLength(value) <= BCRYPT_LENGTH && !value.includes('\0');
}

// The number of different values of one client that can wait. The client repeats the request after a 429.
const MAX_QUEUED = 8;

const RETRY_AFTER: Seconds = 5;

// The pause after each wrong value, as a multiple of the duration of its check: so wrong values take a fifth of the thread at
// most.
const PAUSE = 4;

type SlowCheck = () => Promise<StoredSecret | undefined>;

interface QueuedCheck {
  readonly check: SlowCheck;
  readonly result: PromiseWithResolvers<StoredSecret | undefined>;
}

/**
 * Makes the function that runs a check of a value that a client presents; the check resolves to `undefined` for a wrong value. Checks run
 * one at a time, one value of each client in turn, because unauthenticated requests can cause any number of them.
 *
 * It throws TooManyAttemptsError when too many values of the client wait.
 */
function createSlowChecks(): (
  clientId: string,
  presented: string,
  check: SlowCheck,
) => ReturnType<SlowCheck> {
  // By client, and by the hash of the value: concurrent requests with the same value share one check.
  const clients = new Map<string, Map<string, QueuedCheck>>();
  let isRunning = false;

  async function run(): Promise<void> {
    isRunning = true;
    // A client with more values is set again and so becomes the last entry of the map, which this same loop reaches.
    for (const [clientId, values] of clients) {
      const [value, { check, result }] = [...values][0]!;
      const startedAt = performance.now();
      result.resolve(check());
      const found = await result.promise.catch(() => undefined);
      const duration = performance.now() - startedAt;
      values.delete(value);
      clients.delete(clientId);
      if (values.size > 0) clients.set(clientId, values);
      if (found === undefined) await delay(duration * PAUSE, undefined, { ref: false });
    }
    isRunning = false;
  }

  return async function runSlowCheck(clientId, presented, check) {
    const values = clients.get(clientId) ?? new Map<string, QueuedCheck>();
    const value = hashCredential(presented);
    let queued = values.get(value);
    if (!queued) {
      if (values.size >= MAX_QUEUED) throw new TooManyAttemptsError(RETRY_AFTER);
      queued = { check, result: Promise.withResolvers() };
      clients.set(clientId, values.set(value, queued));
      if (!isRunning) void run();
    }
    return queued.result.promise;
  };
}
