import type { Value } from './statements.ts';

/** The answer to a statement. */
export interface SqlResult {
  /** The rows that a query found, or that a statement returned: an object each, with the names of the columns. */
  readonly rows: readonly object[];
  /** The number of rows that were inserted, changed or removed; of an `update`, those that it matched, unchanged ones included. */
  readonly changes: number;
}

/**
 * A connection to a database, in use by one call until it is released.
 *
 * It does not try again, does not interpret errors and knows no transactions: the storage sends `begin`, `commit` and `rollback`.
 */
export interface SqlConnection {
  /**
   * The driver's connection, or the library's object for it. The work of `storage.transaction()` gets it. The same connection is the same
   * object each time.
   */
  readonly native: object;
  /**
   * Sends one statement. Rejects with the driver's own error, which has the `code` of the database: an SQLSTATE of PostgreSQL, a name
   * such as `ER_LOCK_DEADLOCK` of MariaDB and MySQL, one such as `SQLITE_BUSY` of SQLite. By this code the storage decides whether it
   * tries again. A connection to SQLite does not wait for locks inside this call, because that would block the thread: the storage waits.
   *
   * @param sql - with placeholders: `?` for SQLite, `$1` for PostgreSQL; without any for MariaDB and MySQL, where the text contains the
   * values
   * @param values - the values of the placeholders
   * @param name - the name of the statement, where the database may prepare it; the same text has the same name on all connections
   */
  query(this: void, sql: string, values: readonly Value[], name?: string): Promise<SqlResult>;
  /**
   * Gives the connection back.
   *
   * @param isBroken - `true` when the connection cannot be used again: close it without waiting for the server; a statement under way on
   * it needs no answer
   */
  release(this: void, isBroken: boolean): Promise<void> | void;
  /**
   * Asks the server, on another connection, to stop the statement under way. Without it, a statement that has taken too long goes on at
   * the server until a limit of the server ends it: it may wait for a lock and then change rows, after the caller was told that the
   * outcome is not known. MariaDB does not need it, because each statement has a limit there.
   */
  cancel?(this: void): Promise<void>;
  /**
   * Throws an error with the code `NOT_REPLICATED` when PostgreSQL has warned, since the connection was acquired or this was called, that a
   * commit did not wait for its synchronous standby. Without it, such a commit passes for one that lasts.
   */
  confirm?(this: void): void;
  /**
   * Whether a transaction is open, as far as the driver knows. Without it, nobody notices that the work of `storage.transaction()` has
   * itself committed or rolled back: what the work then stores through the storage lasts, whatever becomes of the rest.
   */
  inTransaction?(this: void): boolean;
  /**
   * Runs work in a transaction of the library, and gives it the library's own object for the transaction. Without it, the storage sends
   * `begin` and `commit`, and the work gets `native`.
   *
   * @param work - rolled back when it rejects; with a function that tells whether the transaction has ended
   * @param beforeCommit - called before any commit, also one by the work itself; rolled back when it rejects
   */
  begin?<T>(
    this: void,
    work: (transaction: object, hasEnded: () => boolean) => Promise<T>,
    beforeCommit: () => Promise<void>,
  ): Promise<T>;
}

/** A connection of PostgreSQL that listens, such as a `Client` of pg. */
export interface ListeningConnection {
  /** The id of the server's process, as announced to this connection; a pooler announces another number. */
  readonly processID: number | null;
  /** Sends a statement. */
  query(sql: string): Promise<{ readonly rows: readonly Readonly<Record<string, unknown>>[] }>;
  /** Calls a function for each message. */
  on(event: 'notification', listener: (message: { readonly payload?: string }) => void): unknown;
  /** Calls a function when the connection has ended, for whatever reason. */
  once(event: 'end', listener: () => void): unknown;
  /** Lets the process end while the connection is open. */
  unref(): void;
  /** Closes it. */
  end(): Promise<void>;
}

/**
 * A database that a storage can use, by any driver or library: SQLite, PostgreSQL, MariaDB or MySQL.
 *
 * Test one of your own with `connectionContract()` of `koa-gatehouse/testing`.
 */
export interface SqlDatabase {
  /** Which SQL it understands; `mysql` is MariaDB's too. */
  readonly dialect: 'sqlite' | 'postgresql' | 'mysql';
  /**
   * Resolves to a connection that nobody else uses before it is released. It may wait for as long as it likes: the storage waits no
   * longer than its `timeout`, and releases what comes later. SQLite has one connection, and one call at a time asks for it.
   */
  connect(this: void): Promise<SqlConnection> | SqlConnection;
  /** Closes what was opened for this storage. */
  close(this: void): Promise<void>;
  /** `false` for an SQLite database in memory, which a server refuses in production. @default true */
  readonly durable?: boolean;
  /** SQLite: a second connection to the same file that only reads, used while a transaction of the host has the first. Without it, reads wait. */
  reader?(this: void): SqlConnection;
  /**
   * SQLite: whether the host sends statements on the connection too, between two calls of the storage. Several calls then do not share a
   * commit. @default false
   */
  readonly shared?: boolean;
  /**
   * PostgreSQL: opens a connection besides the pool, for LISTEN; resolves to `undefined` when none can be opened any more. Without it, a
   * node learns of revocations of other nodes within `tokens.revocationLag`.
   */
  listen?(this: void): Promise<ListeningConnection | undefined>;
}
