import type { Knex } from 'knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { createStorage } from '../../lib/database/storage.ts';
import { beginStackAt, ConfigError } from '../../lib/errors.ts';
import { optional, readOptions } from '../../lib/options/declare.ts';
import type { Check, Given } from '../../lib/options/declare.ts';
import { boolean, wait } from '../../lib/options/values.ts';
import { readableAddress } from './address.ts';
import { listenAt, openDatabase } from './open-database.ts';

const listenAddress: Check<boolean | string> = (place, listen: unknown) => {
  if (typeof listen === 'boolean') return listen;
  if (typeof listen === 'string' && /^postgres(ql)?:/.test(listen)) return readableAddress(listen, place);
  // The message does not repeat an address, because it may contain a password.
  throw new ConfigError(
    place,
    'give true, false, or the address of the PostgreSQL server, postgres://user@host/name',
  );
};

const KNEX_STORAGE = {
  /**
   * How long a call waits for a free connection, for locks and for the server's answer before it throws `StorageError`: such as `'2
   * seconds'` or `'500 ms'`, 10 minutes at most. Then the server is asked to stop the statement; if it does not answer, the call takes a
   * second more.
   *
   * @default '5 seconds'
   */
  timeout: optional(wait(1, '10 minutes'), '5 seconds'),
  /**
   * Whether an SQLite file that does not exist is created, where the database is an address. With `false`, a missing file is a
   * `ConfigError`, so that a wrong path is noticed.
   *
   * @default true
   */
  createFile: optional(boolean, true),
  /**
   * Whether a server on PostgreSQL opens one connection besides the pool, on which it learns of revocations and changes of other nodes at
   * once (LISTEN). Without this connection, and on other databases, the server reads them within `tokens.revocationLag`. PgBouncer passes
   * no messages on: behind it, give the address of the server itself for this connection, such as `'postgres://app@10.0.0.1/app'`.
   *
   * @default true
   */
  listen: optional(listenAddress, true),
};

/** How the storage uses its database. */
export interface KnexStorageOptions extends Given<typeof KNEX_STORAGE> {}

/**
 * Storage in an SQL database: SQLite (`better-sqlite3`), PostgreSQL (`pg`), MariaDB or MySQL (`mysql2`).
 *
 * With the app's own Knex instance, the storage shares its pool, and `close()` leaves the pool open. With an address or a Knex
 * configuration, the storage opens its own pool, and `close()` closes it. The names of its tables begin with `gatehouse_`; it
 * uses no other table, the app's `knex_migrations` included. Call `migrate()` once before serving.
 *
 * Connections of its own pool are configured: an SQLite file is put in WAL mode, and a server gets time limits for statements,
 * locks and idle transactions. Connections of the app's pool are not configured. SQLite's pool has one connection: a call from
 * inside a transaction of the app waits for the end of that transaction, so do not await it there.
 *
 * `transaction()` passes a `Knex.Transaction` to the work. On SQLite one runs at a time, with a pause between two of them for
 * other calls. It waits no longer than `timeout` for a connection and, on SQLite, for other writers; the time limits of the
 * work's own statements are those of the connection. A connection of the storage's own pool is closed, and its transaction
 * rolled back, when the work sends nothing for longer than `timeout`, so wait for nothing else in it.
 *
 * Revoking or removing a very large number of grants is done in batches, each of them atomic. After an error or a crash
 * between two batches, repeat the call to finish.
 *
 * @example
 * knexStorage(knex)                          // the app's own
 * knexStorage('sqlite:./data.db')            // or 'data.db', or 'sqlite:///var/lib/app/data.db'
 * knexStorage('postgres://app@localhost/app')
 * knexStorage('postgres://app@/app?host=/cloudsql/project:region:instance')   // a socket
 *
 * @param database - the app's Knex instance, an address such as `sqlite:./data.db`, or a configuration of Knex
 * @param options - how long calls may take
 * @throws ConfigError for an address that cannot be understood, a database that is not supported, or a driver that is
 * not installed; the message names the package to install
 */
export function knexStorage(
  database: Knex | Knex.Config | string,
  options: KnexStorageOptions = {},
): Storage {
  const { createFile, listen, timeout } = readOptions(KNEX_STORAGE, options, 'knexStorage()');
  const opened = openDatabase(database, timeout, createFile);
  const source = typeof listen === 'string' ? { ...opened, listen: listenAt(listen) } : opened;
  return createStorage(source, { listen: listen !== false, timeout });
}
beginStackAt(knexStorage);
