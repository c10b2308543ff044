import type { AuditStore } from './audit.ts';
import type { ClientStore } from './clients.ts';
import type { ConsentStore, CredentialStore, GrantStore, RevocationStore } from './grants.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { AssignmentStore } from './people.ts';
import type { KeyStore, SessionStore } from './sessions.ts';
import type { AttemptStore } from './throttle.ts';

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
