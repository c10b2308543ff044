import type { Seconds } from './duration.ts';
import type { AttemptStore } from './attempts.ts';
import type { AuditStore } from './audit.ts';
import type { ClientStore } from './clients.ts';
import type { ConsentStore } from './consents.ts';
import type { MakeStore } from '../database/database.ts';
import type { StorageAccess, StorageDiagnosis, StorageState } from './diagnosis.ts';
import type { GrantStore } from './grants.ts';
import type { IdempotencyStore } from './idempotency.ts';
import type { EndStore, StoredChange } from './ends.ts';
import type { KeyStore } from './keys.ts';
import type { AssignmentStore } from './people.ts';
import type { RevocationStore } from './revocations.ts';
import type { SessionStore } from './sessions.ts';
import type { UserDataStore } from './user-data.ts';

/** A problem that `auth.doctor()` or `gatehouse doctor` has found, with its remedy. */
export interface Finding {
  /** Stable and for programs, such as `database_unreachable` or `secret_expires_soon`. */
  readonly code: string;
  /** An `error` means that something does not work. A `warning` means that it works, but will stop working soon or is not safe. */
  readonly severity: 'error' | 'warning';
  /** The problem, in a sentence. */
  readonly message: string;
  /** The remedy, in a sentence. */
  readonly remedy: string;
}

/**
 * Tells all nodes on a storage of a change, so that they read it at once and not only within `tokens.revocationLag`. It is a hint: a lost
 * message only costs time.
 */
export interface ChangeFeed {
  /** Sends changes, which are stored already, to all nodes, this one included. An empty list stands for any change. */
  publish(changes: readonly StoredChange[]): Promise<void>;
  /**
   * Calls a function with the changes that any node publishes, until the storage is closed. Resolves before it receives the first change,
   * and connects again when the connection is lost. An empty list stands for any change.
   */
  subscribe(onChanges: (changes: readonly StoredChange[]) => void): Promise<void>;
}

/**
 * The storage of all data of Gatehouse: what `knexStorage()`, `sqlStorage()` and `memoryStorage()` return, which nothing else implements.
 * Its stores are the server's own: they are not in the reference, and may change with each version.
 *
 * No method receives the value of a code, a refresh token, a secret or a session id: their ids are SHA-256 hashes.
 *
 * Every method may throw `StorageError` when the database cannot be reached, and no other error for well-formed input.
 * Rows past `expiresAt` may still be returned, so callers compare it with the current time.
 */
export interface Storage {
  /** Whether the data outlives the process, in a file, a database server or a backup, where others may read it. */
  readonly durable: boolean;
  /** @hidden */
  readonly clients: ClientStore;
  /** @hidden */
  readonly consents: ConsentStore;
  /** @hidden */
  readonly grants: GrantStore;
  /** @hidden */
  readonly revocations: RevocationStore;
  /** @hidden */
  readonly sessions: SessionStore;
  /** @hidden */
  readonly keys: KeyStore;
  /** @hidden */
  readonly assignments: AssignmentStore;
  /** @hidden */
  readonly audit: AuditStore;
  /** @hidden */
  readonly idempotency: IdempotencyStore;
  /** @hidden */
  readonly attempts: AttemptStore;
  /**
   * The store of a feature, which brings its own SQL and tables.
   *
   * @hidden
   * @param name - the name by which tests can observe and replace the store's calls
   */
  store<T extends object>(name: string, make: MakeStore<T>): T | Promise<T>;
  /** @hidden */
  readonly ends: EndStore;
  /** @hidden */
  readonly userData: UserDataStore;
  /**
   * Tells other nodes of changes at once; absent where the database has no means for that.
   *
   * @hidden
   */
  readonly changes?: ChangeFeed;
  /**
   * Runs `work` once in one transaction of the database, which is rolled back when `work` throws. An error of `work` is thrown unchanged.
   * `StorageError` is thrown when the transaction cannot be started or committed. This is also the case when `work` has caught the error
   * of a statement on PostgreSQL, or of a deadlock on MariaDB, because the database has then rolled everything back: run statements that
   * may fail in a nested transaction. `knexStorage()` passes a `Knex.Transaction` to `work`. `sqlStorage()` and `memoryStorage()` pass
   * the connection, such as a client of pg, on which `work` sends neither `commit` nor `rollback`.
   *
   * Calls of the server and of the storage are not part of the transaction, except the answer of an idempotent request when the
   * transaction is passed to it. Do not await other calls in `work`: on SQLite, with its single connection, they wait for the end of the
   * transaction, and throw when that takes too long.
   */
  transaction<T>(work: (transaction: unknown) => Promise<T>): Promise<T>;
  /**
   * Waits until all changes that a read before this call has seen are sure to last. Does nothing where that is always so.
   *
   * A database with a synchronous standby shows a change whose commit has not reached the standby; the call that made it throws
   * `StorageError`, because it is not known whether the change lasts. A repeated call that finds nothing left to change must not say
   * more. Methods that change rows wait themselves, even when they find nothing to change; this method is for a caller that has only
   * read.
   *
   * @hidden
   * @throws StorageError when it is not known whether the changes last
   */
  confirm(): Promise<void>;
  /** Creates the tables or brings them up to date. Safe to call from several nodes at once. */
  migrate(): Promise<void>;
  /**
   * Names of the migrations that have not run; empty when the storage is ready. Throws `StorageError` when the storage cannot be
   * written, such as on a standby server.
   */
  pendingMigrations(): Promise<readonly string[]>;
  /**
   * Deletes up to `limit` rows that expired before `now` and that no unexpired row depends on, and keys that retired before `now`.
   * Resolves to the number of deleted rows; repeat the call until that is 0.
   *
   * @hidden
   */
  prune(now: Seconds, limit: number): Promise<number>;
  /**
   * Reads the clock of the database, and remembers why changes have failed; for `auth.ready()` and `auth.doctor()`.
   *
   * @hidden
   */
  state(): Promise<StorageState>;
  /**
   * Reads what `auth.doctor()` reports of the database.
   *
   * @hidden
   */
  diagnose(): Promise<StorageDiagnosis>;
  /**
   * Finds out what the database permits, for `auth.doctor()`. Changes nothing.
   *
   * @hidden
   */
  access(): Promise<StorageAccess>;
  /** Closes the connections that the storage has opened. A connection that was passed to it stays open. */
  close(): Promise<void>;
}
