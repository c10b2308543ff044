import { callbackify, promisify } from 'node:util';

import type { Knex } from 'knex';

import { toSeconds } from '../../lib/contracts/duration.ts';
import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { unlessUnknown } from '../../lib/database/dialects/mysql-servers.ts';
import { ReadOnlyError } from '../../lib/database/error-kinds.ts';
import { send } from '../drivers/mysql2.ts';
import type { MysqlConnection } from '../drivers/mysql2.ts';
import type { PgClient } from '../drivers/pg.ts';
import { setUpFile } from '../drivers/better-sqlite3.ts';
import type { SqliteFile } from '../drivers/better-sqlite3.ts';

/** The other names that Knex has for a client. */
const ALIASES: Readonly<Record<string, string>> = { postgres: 'pg', postgresql: 'pg' };

// The network may need this long for a connection, even when the storage's timeout is shorter. The time is not longer, because attempts
// to connect that cannot succeed occupy the pool, which then opens no other connections.
const MIN_CONNECT_TIMEOUT: Milliseconds = 1000;

/**
 * A configuration for connections that only this storage uses, with every wait bounded by `timeout` milliseconds.
 *
 * Settings that the given configuration has are not changed.
 */
export function withConnectionSettings(config: Knex.Config, timeout: Milliseconds): Knex.Config {
  const { client, pool } = config;
  const driver = String(typeof client === 'function' ? client.prototype.driverName : client);
  const setUp = setUps[ALIASES[driver] ?? driver];
  const isFile = driver === 'better-sqlite3';
  return {
    acquireConnectionTimeout: timeout,
    ...(isFile ? { useNullAsDefault: true } : {}),
    ...config,
    pool: {
      // Idle connections to a server are closed. A database in memory ends with its connection, so SQLite's stays open.
      ...(isFile ? {} : { min: 0, createTimeoutMillis: Math.max(timeout, MIN_CONNECT_TIMEOUT) }),
      ...pool,
      ...(setUp ? { afterCreate: afterCreate(setUp, timeout, pool?.afterCreate) } : {}),
    },
  };
}

/** Knex's hook `afterCreate`: sets the connection up, then calls the hook of the given configuration. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- Knex's own type of the hook
function afterCreate(setUp: SetUp, timeout: Milliseconds, then: Function | undefined) {
  return callbackify(async (connection: { end?(): unknown }): Promise<void> => {
    try {
      await setUp(connection as never, timeout);
    } catch (error) {
      // The pool does not close what it has not received.
      connection.end?.();
      throw error;
    }
    if (then) await promisify(then)(connection);
  });
}

/** Sets up a new connection that only this storage uses, with `timeout` in milliseconds. */
type SetUp = (connection: never, timeout: Milliseconds) => Promise<void>;

/** By the driver's name. */
const setUps: Readonly<Record<string, SetUp>> = {
  'better-sqlite3': async (file: SqliteFile) => setUpFile(file),

  // Only the server can end a transaction whose node has crashed, so the limits are set there. Zero means no limit; limits
  // that an administrator has set stay. A pooler such as PgBouncer announces process ids of its own: its server connections are
  // those of other applications too, so nothing is set there.
  async pg(connection: PgClient, timeout) {
    const { rows } = await connection.query({
      text: `
        select current_setting('transaction_read_only') as read_only, (
          select count(set_config(name, '${Math.ceil(timeout)}', false)) from pg_settings where setting = '0'
          and name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')
          and pg_backend_pid() = ${Number(connection.processID)}
        ) as limits`,
    });
    const [row]: readonly { readonly read_only: string }[] = rows;
    if (row!.read_only === 'on') throw new ReadOnlyError();
  },

  async mysql2(connection: MysqlConnection, timeout) {
    const seconds = Math.ceil(toSeconds(timeout));
    // Only MariaDB can end an idle transaction, and only MariaDB reads this kind of comment.
    await send(
      connection,
      `set session innodb_lock_wait_timeout = least(@@innodb_lock_wait_timeout, ${seconds})
       /*M!100300 , idle_transaction_timeout = if(@@idle_transaction_timeout = 0, ${seconds}, @@idle_transaction_timeout) */`,
    );
    // Lets a member of a Galera cluster wait, before it reads or changes rows, until it has applied what the other members have
    // committed. Without that, it does not find a code that another member issued a moment ago. Elsewhere it has no effect.
    // 1: select and begin; 2: update and delete; 4: insert. A server that was built without Galera has no such variable.
    await unlessUnknown(send(connection, 'set session wsrep_sync_wait = @@wsrep_sync_wait | 7'));
  },
};
