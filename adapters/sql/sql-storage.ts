import type { Storage } from '../../lib/contracts/index.ts';
import type { SqlDatabase } from '../../lib/database/port.ts';
import { createStorage } from '../../lib/database/storage.ts';
import { beginStackAt, ConfigError } from '../../lib/errors.ts';
import { optional, readOptions } from '../../lib/options/declare.ts';
import type { Given } from '../../lib/options/declare.ts';
import { boolean, wait } from '../../lib/options/values.ts';
import { betterSqlite3Database } from '../drivers/better-sqlite3.ts';
import { mysql2Database } from '../drivers/mysql2.ts';
import { nodeSqliteDatabase } from '../drivers/node-sqlite.ts';
import { pgDatabase } from '../drivers/pg.ts';

const SQL_STORAGE = {
  /**
   * How long a call waits for a free connection, for locks and for the server's answer before it throws `StorageError`: such as `'2
   * seconds'` or `'500 ms'`, 10 minutes at most. Then the server is asked to stop the statement; if it does not answer, the call takes a
   * second more.
   *
   * @default '5 seconds'
   */
  timeout: optional(wait(1, '10 minutes'), '5 seconds'),
  /**
   * Whether a server on PostgreSQL opens one connection besides the pool, on which it learns of revocations and changes of other nodes at
   * once (LISTEN). Without this connection, and on other databases, the server reads them within `tokens.revocationLag`.
   *
   * @default true
   */
  listen: optional(boolean, true),
};

/** How the storage uses its database. */
export interface SqlStorageOptions extends Given<typeof SQL_STORAGE> {}

/** A `Pool` of `pg`. */
export interface PgPool {
  /** Resolves to a client of the pool. */
  connect(): Promise<object>;
  /** How many clients it has. */
  readonly totalCount: number;
}

/** A pool of `mysql2`, or of `mysql2/promise`. */
export interface MysqlPool {
  /** Gives a connection to a callback, or resolves to it. */
  // oxlint-disable-next-line typescript/no-explicit-any -- a callback in one of them, no parameter in the other
  getConnection(...given: any[]): unknown;
}

/** An open database of `better-sqlite3`, or a `DatabaseSync` of `node:sqlite`. */
export interface SqliteDatabase {
  /** Makes a prepared statement. */
  prepare(sql: string): object;
  /** Runs a statement. */
  exec(sql: string): unknown;
}

/**
 * Storage in an SQL database, by a pool or a connection that the app has made: a pool of `pg`, `mysql2` or `mysql2/promise`, an open
 * database of `better-sqlite3` or `node:sqlite`, or a {@link SqlDatabase} of your own for any other library. Needs no Knex.
 *
 * The app goes on using its pool. `close()` leaves it open: end it afterwards. The pool is used as it is configured; `docs/databases.md`
 * says which time limits to set. The names of the tables begin with `gatehouse_`. Call `migrate()` once before serving.
 *
 * An SQLite database is for this storage alone, because all statements on a connection are in the same transaction: the app opens another
 * connection to the same file. Set `journal_mode = wal`, so that neither waits for reads of the other. Its `busy_timeout` is set to 0:
 * the storage waits for locks without blocking the thread.
 *
 * `transaction()` passes the connection in use to the work: a client of `pg`, a connection of `mysql2`, the database of SQLite. The work
 * sends neither `commit` nor `rollback`.
 *
 * @example
 * sqlStorage(new pg.Pool({ connectionString: 'postgres://app@localhost/app' }))
 * sqlStorage(mysql.createPool({ uri: 'mysql://app@localhost/app' }))
 * sqlStorage(new DatabaseSync('data.db'))
 *
 * @param options - how long calls may take
 * @throws ConfigError for anything else, such as a Knex instance, which is for `knexStorage()`
 */
export function sqlStorage(
  database: PgPool | MysqlPool | SqliteDatabase | SqlDatabase,
  options: SqlStorageOptions = {},
): Storage {
  return createStorage(databaseOf(database), readOptions(SQL_STORAGE, options, 'sqlStorage()'));
}
beginStackAt(sqlStorage);

function databaseOf(database: object): SqlDatabase {
  if (has(database, 'dialect', 'connect')) return database as SqlDatabase;
  if (has(database, 'connect', 'totalCount')) return pgDatabase(database as never);
  if (has(database, 'getConnection')) return mysql2Database(database as never);
  if (has(database, 'prepare', 'pragma')) return betterSqlite3Database(database as never);
  if (has(database, 'prepare', 'exec')) return nodeSqliteDatabase(database as never);
  throw new ConfigError(
    'storage',
    has(database, 'client', 'raw')
      ? 'this is a Knex instance; pass it to knexStorage() of koa-gatehouse/adapters/knex'
      : 'pass a pool of pg or mysql2, an open database of better-sqlite3 or node:sqlite, or a SqlDatabase; an address is for knexStorage() of koa-gatehouse/adapters/knex',
  );
}

function has(database: unknown, ...names: readonly string[]): boolean {
  const isObject = (typeof database === 'object' && database !== null) || typeof database === 'function';
  return isObject && names.every((name) => name in database);
}
