import type { Knex } from 'knex';

import type { SqlConnection, SqlDatabase } from '../../lib/database/port.ts';
import { LOCK, sharedSqliteConnection } from '../drivers/better-sqlite3.ts';
import { mysqlConnection } from '../drivers/mysql2.ts';
import type { MysqlConnection } from '../drivers/mysql2.ts';
import { closePg, pgConnection } from '../drivers/pg.ts';
import { isPersistent, refuseFileOfServer } from './address.ts';
import { unsupported } from './load-knex.ts';

interface Driver {
  readonly dialect: SqlDatabase['dialect'];
  wrap(this: void, native: never, release: SqlConnection['release']): WrappedConnection;
  /** Closes a connection without waiting for the server; the pool then hands it out no more. */
  close(this: void, native: never): Promise<void>;
}

interface WrappedConnection extends SqlConnection {
  /** Restores the host's settings of the connection that the storage has changed. */
  readonly leave?: () => void;
}

/** By the name of Knex's driver. */
const DRIVERS: Readonly<Record<string, Driver>> = {
  'better-sqlite3': { dialect: 'sqlite', wrap: sharedSqliteConnection, async close() {} },
  pg: { dialect: 'postgresql', wrap: pgConnection, close: closePg },
  mysql2: {
    dialect: 'mysql',
    wrap: mysqlConnection,
    close: async (native: MysqlConnection) => native.destroy(),
  },
};

export function isDriver(name: string): boolean {
  return Object.hasOwn(DRIVERS, name);
}

/**
 * The database of a Knex instance, which stays open when the storage is closed.
 *
 * @param shared - whether the host uses its pool too
 */
export function knexDatabase(knex: Knex, { shared }: { readonly shared: boolean }): SqlDatabase {
  const { client } = knex;
  refuseFileOfServer(knex);
  const driver = String(client.driverName);
  if (!isDriver(driver)) throw unsupported(driver);
  const { close, dialect, wrap } = DRIVERS[driver]!;

  async function connect(): Promise<SqlConnection> {
    const native = (await client.acquireConnection()) as never;

    async function release(isBroken: boolean): Promise<void> {
      if (isBroken) await close(native);
      await client.releaseConnection(native);
    }

    try {
      const connection = wrap(native, release);
      return {
        ...connection,
        begin: async (work, beforeCommit) => begin(knex, connection, work, beforeCommit),
      };
    } catch (error) {
      await release(false);
      throw error;
    }
  }

  const { filename } = Object(client.connectionSettings) as { readonly filename?: unknown };
  const canListen = dialect === 'postgresql' && client.config.connectionPool === undefined;
  return {
    dialect,
    durable: isPersistent(filename),
    shared,
    connect,
    ...(canListen && { listen: async () => (client.pool ? client.acquireRawConnection() : undefined) }),
    async close() {},
  };
}

/** Runs work in a transaction of Knex, on a connection that was acquired without it. */
export async function begin<T>(
  knex: Knex,
  { leave, native, query }: WrappedConnection,
  work: (transaction: Knex.Transaction, hasEnded: () => boolean) => Promise<T>,
  beforeCommit: () => Promise<void>,
): Promise<T> {
  async function locked(transaction: Knex.Transaction): Promise<T> {
    // Knex begins a transaction that takes SQLite's write lock at its first write, which fails when another transaction has written since
    // this one read.
    if (knex.client.driverName === 'better-sqlite3') await query(LOCK, []);
    // The host's statements run with the connection's own settings, such as `busy_timeout`.
    leave?.();
    const commit = transaction.commit.bind(transaction);
    // Knex calls `commit` too, when the work is done. Its type says that it is a query, but it is not.
    transaction.commit = (async (value: unknown) => {
      await beforeCommit();
      return commit(value);
    }) as typeof commit;
    return work(transaction, () => transaction.isCompleted());
  }

  try {
    return await knex.transaction(locked, { connection: native });
  } finally {
    // Knex does not remove its transaction id from a connection that was passed in, and reports the id with every later
    // statement.
    delete (native as { __knexTxId?: string }).__knexTxId;
  }
}
