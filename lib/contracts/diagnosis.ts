import type { Milliseconds, Seconds } from './duration.ts';

/** What the readiness of a server depends on, besides tables and keys. */
export interface StorageState {
  /** The time of the database's clock, in milliseconds since 1970; `undefined` when it has no clock of its own. */
  readonly clock: Milliseconds | undefined;
  /**
   * Why a change has failed within the last minute, although rows can be read: the disk of the database is full, or another process keeps
   * an SQLite file locked. `undefined` when no change has failed for such a reason.
   */
  readonly failing: 'disk_full' | 'database_locked' | undefined;
}

/** The findings of the database about itself. */
export interface StorageDiagnosis {
  /** When the oldest row that could be pruned expired, in seconds since 1970; `undefined` when there is none. */
  readonly oldestExpired: Seconds | undefined;
  /**
   * The memory in which the database keeps what it has read of its tables; `undefined` when the operating system does that, or the
   * database does not tell. With less memory than it needs, the database reads from the disk for most requests.
   */
  readonly cache: StorageCache | undefined;
  /**
   * Why the messages of other nodes (see `ChangeFeed`) do not arrive: the database is behind a pooler such as PgBouncer, or the address
   * for them cannot be reached. `undefined` when they arrive, or when there are none.
   */
  readonly listening: 'pooled' | 'unreachable' | undefined;
  /** The names of the tables that have no transactions, such as those of MyISAM and Aria in MariaDB. */
  readonly withoutTransactions: readonly string[];
}

/** The cache of a database, such as the InnoDB buffer pool of MariaDB and MySQL. Sizes are in bytes. */
export interface StorageCache {
  /** The size of the cache. Tables of other applications in the same database server share it. */
  readonly size: number;
  /** The size of the tables in which requests find rows, with their indexes. It is an estimate, which may be hours old. */
  readonly needed: number;
}

/** What the database permits. Each member is a code with its meaning, such as `(42501): its user lacks a privilege`. */
export interface StorageAccess {
  /** Why rows cannot be changed; `undefined` when they can. */
  readonly readOnly: string | undefined;
  /** Why tables cannot be created or changed; `undefined` when they can. */
  readonly noMigrations: string | undefined;
}
