import type { AuditStore } from './audit.ts';
import type { ClientStore } from './clients.ts';
import type { ConsentStore, CredentialStore, GrantStore, RevocationStore } from './grants.ts';
import type { AssignmentStore } from './people.ts';

/** Something that an operator should look at, with its remedy. */
export interface Finding {
  /** Stable and for programs, such as `database_unreachable` or `secret_expires_soon`. */
  readonly code: string;
  /** `error`: something does not work. `warning`: it works, but not for long or not safely. */
  readonly severity: 'error' | 'warning';
  /** What was found, in a sentence. */
  readonly message: string;
  /** What to do about it, in a sentence. */
  readonly remedy: string;
}

/** How the database is. */
export interface StorageDiagnosis {
  /** Its clock, in milliseconds since 1970; `undefined` when it has none of its own. */
  readonly clock: number | undefined;
  /** When the oldest row expired that could be pruned by now, in seconds since 1970; `undefined` when there is none. */
  readonly oldestExpired: number | undefined;
}

/**
 * Everything Gatehouse keeps. `knexStorage()` and `memoryStorage()` provide it; the contract suite in
 * `koa-gatehouse/testing` tells whether another one does.
 *
 * Times are whole seconds since 1970 (RFC 7519 section 2, NumericDate) unless a member says otherwise. No method ever
 * receives a code, a refresh token, a secret or a session id as such: their ids are SHA-256 hashes.
 *
 * Every method may throw `StorageError` when the storage cannot be reached; nothing else for well-formed input.
 * Rows past `expiresAt` may still be returned: the caller compares.
 */
export interface Storage {
  /** Whether what it keeps outlives the process, and so can be read by others: in a file, a server, a backup. */
  readonly durable: boolean;
  readonly clients: ClientStore;
  readonly consents: ConsentStore;
  readonly grants: GrantStore;
  readonly credentials: CredentialStore;
  readonly revocations: RevocationStore;
  readonly sessions: SessionStore;
  readonly keys: KeyStore;
  readonly assignments: AssignmentStore;
  readonly audit: AuditStore;
  readonly idempotency: IdempotencyStore;
  readonly attempts: AttemptStore;
  /**
   * Runs `work` once, in one transaction of the database: all that it does through what it is handed, or, when it throws,
   * nothing. What it throws comes out as it is; when the transaction cannot be begun or committed, `StorageError`.
   * `knexStorage()` hands a `Knex.Transaction`; `memoryStorage()` hands nothing and rolls nothing back.
   *
   * Methods of the storage are not part of the transaction, but for `idempotency.finish` when it is handed it. Do not await
   * the others inside: on SQLite, with its one connection, they wait for the end of the transaction, and throw when it takes
   * too long.
   */
  transaction<T>(work: (transaction: unknown) => Promise<T>): Promise<T>;
  /** Creates the tables or brings them up to date. Safe to call from several nodes at once. */
  migrate(): Promise<void>;
  /** Names of the migrations that have not run; empty when the storage is ready. */
  pendingMigrations(): Promise<readonly string[]>;
  /**
   * Removes up to `limit` rows that expired before `now` and that nothing live depends on.
   * Resolves to how many it removed; call again until 0.
   */
  prune(now: number, limit: number): Promise<number>;
  /** What an operator wants to know of the database itself. */
  diagnose(): Promise<StorageDiagnosis>;
  /** Releases what the storage itself opened. A connection that was handed in stays open. */
  close(): Promise<void>;
}

/** A login of somebody in a browser. */
export interface StoredSession {
  /** SHA-256 of the id that the browser holds, base64url. */
  readonly id: string;
  /** SHA-256 of the session's `uid`, a second name that is not a credential. */
  readonly uid: string;
  readonly userId: string;
  /** What the engine keeps with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** In seconds since 1970. */
  readonly expiresAt: number;
  /** `RevocationStore.sequence` before the password was checked. */
  readonly sequence: number;
}

/**
 * Keeps the login sessions of browsers: the `sessions` of a {@link Storage}. A session is inserted by a login and by nothing
 * else, so that one that was removed stays removed, whatever request is under way.
 */
export interface SessionStore {
  /** Inserts a session, with an id that no other has. */
  insert(session: StoredSession): Promise<void>;
  /**
   * Finds the session of a browser, unless its user has been ended since it began; and, as of the same moment,
   * `RevocationStore.sequence`, for what begins with it.
   */
  find(id: string): Promise<{ session: StoredSession; sequence: number } | undefined>;
  /** Changes a session that is there. Resolves to `false` when it is not there any more. */
  update(session: Pick<StoredSession, 'id' | 'payload' | 'expiresAt'>): Promise<boolean>;
  /** Forgets a session, if it is there. */
  delete(id: string): Promise<void>;
  /** Ends all sessions of a user. Resolves to their number. */
  deleteOfUser(userId: string): Promise<number>;
}

/**
 * A secret of the server itself, shared by all nodes: a key that signs tokens, or one that signs cookies. Times are in
 * seconds since 1970.
 */
export interface StoredKey {
  /** The `kid` of a signing key. */
  readonly id: string;
  readonly use: 'token' | 'cookie';
  /** 1, 2, 3 ... per use: two nodes that make a key at the same time make the same generation, and one of them loses. */
  readonly generation: number;
  /** The JWK as JSON text, or that text encrypted under the key-encryption key. */
  readonly material: string;
  readonly createdAt: number;
  /** From when it signs. */
  readonly activeAt: number;
  /** Until when tokens signed with it are accepted; `undefined` while it is the newest. */
  readonly retiresAt: number | undefined;
}

/** Keeps the server's own keys: the `keys` of a {@link Storage}. */
export interface KeyStore {
  /** All keys of one use, oldest generation first. */
  list(use: StoredKey['use']): Promise<readonly StoredKey[]>;
  /** Adds a key; resolves to `false`, adding nothing, when its use has that generation already. */
  add(key: StoredKey): Promise<boolean>;
  /** Sets when a key retires, in seconds since 1970. */
  retire(id: string, retiresAt: number): Promise<void>;
}

/** An answer that is given again. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** A request with an `Idempotency-Key`, from its begin on. Times are in seconds since 1970. */
export interface StoredRequest {
  /** SHA-256 of the caller and the key, base64url. */
  readonly id: string;
  /** SHA-256 of the method, the path and the body, base64url: the same key with another request is a mistake. */
  readonly fingerprint: string;
  /** Who runs it: made up for each attempt, so that one that was given up cannot end another's. */
  readonly attempt: string;
  /** Until when the attempt is trusted to be alive. */
  readonly leasedUntil: number;
  readonly expiresAt: number;
  /** Absent while it runs. */
  readonly answer: StoredAnswer | undefined;
}

/** Keeps what was answered, so that a request that is sent again runs once: the `idempotency` of a {@link Storage}. */
export interface IdempotencyStore {
  /**
   * Begins a request: one caller ever gets `undefined` and runs it; the others get what is there. A request whose lease
   * has ended without an answer, as of `now`, is taken over by one caller that has the same fingerprint; one that has
   * expired, by any. The attempt that runs a request gets `undefined` again, as when the answer to it was lost.
   *
   * @param now - in seconds since 1970
   */
  begin(request: StoredRequest, now: number): Promise<StoredRequest | undefined>;
  /**
   * Moves the end of the lease, and `expiresAt` along when it would come first. `false`: the request has an answer, or is
   * another attempt's by now.
   *
   * @param leasedUntil - in seconds since 1970
   */
  extend(request: Pick<StoredRequest, 'id' | 'attempt'>, leasedUntil: number): Promise<boolean>;
  /**
   * Keeps the answer; told twice, the first one stays. `false`: the request is another attempt's by now, and theirs
   * counts.
   *
   * @param transaction - what {@link Storage.transaction} has handed to work that is still under way: then the answer is
   * kept with what that does, or not at all
   */
  finish(
    request: Pick<StoredRequest, 'id' | 'attempt'>,
    answer: StoredAnswer,
    transaction?: unknown,
  ): Promise<boolean>;
  /** Forgets a request that did nothing, so that the key can be used again. One that has an answer stays. */
  abandon(request: Pick<StoredRequest, 'id' | 'attempt'>): Promise<void>;
}

/** How many attempts are counted, and for how long. Times are in seconds since 1970. */
export interface AttemptWindow {
  /** At least 1. */
  readonly limit: number;
  readonly now: number;
  /** When the window ends that this attempt opens, if none is open. */
  readonly expiresAt: number;
}

/**
 * Counts attempts at something that can be guessed: the `attempts` of a {@link Storage}. The ids tell nothing of what is
 * counted: they are made with a secret of the server.
 */
export interface AttemptStore {
  /**
   * Counts one more attempt, unless there are `limit` of them already: of any number of callers at once, on any node, no
   * more than `limit` are counted until the window ends, which is from its `expiresAt` on.
   *
   * @returns `undefined` when it is counted; else when the window ends, in seconds since 1970
   */
  count(id: string, window: AttemptWindow): Promise<number | undefined>;
  /** Takes back one attempt that was counted. */
  giveBack(id: string): Promise<void>;
  /** Takes back all of them. */
  forget(id: string): Promise<void>;
}
