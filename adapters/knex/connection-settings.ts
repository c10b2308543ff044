import type { Knex } from 'knex';

import { ReadOnlyError } from './dialects/postgresql-connection.ts';
import { codeOf } from './dialect.ts';

/** The other names that Knex has for a client. */
const ALIASES: Readonly<Record<string, string>> = { postgres: 'pg', postgresql: 'pg' };

// In milliseconds: the network may need this long for a connection, also when the storage's timeout is shorter. It is no
// longer, because attempts to connect that cannot succeed occupy the pool, which then opens no other connections.
const MIN_CONNECT_TIMEOUT = 1000;

/**
 * A configuration for connections that only this storage uses, with every wait bounded by `timeout` milliseconds.
 *
 * Settings that the given configuration has are not changed.
 */
export function withConnectionSettings(config: Knex.Config, timeout: number): Knex.Config {
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

type Done = (error: unknown, connection: unknown) => void;

/** Knex's hook `afterCreate`: sets the connection up, then calls the hook of the given configuration. */
// oxlint-disable-next-line typescript/no-unsafe-function-type -- Knex's own type of the hook
function afterCreate(setUp: SetUp, timeout: number, then: Function | undefined) {
  return (connection: never, done: Done): void => {
    setUp(connection, timeout, (error) => {
      if (error === undefined && then) then(connection, done);
      else done(error, connection);
    });
  };
}

/**
 * Sets up a new connection that only this storage uses, with `timeout` in milliseconds. A connection that fails is closed
 * here, because the pool does not close what it has not received.
 */
type SetUp = (connection: never, timeout: number, done: (error?: unknown) => void) => void;

interface OpenedFile {
  pragma(source: string): unknown;
  close(): unknown;
}

interface ServerConnection {
  query(sql: string, done: (error?: unknown) => void): unknown;
  end(): unknown;
}

interface PostgresqlConnection {
  readonly processID: number | null;
  query(
    sql: string,
    done: (error: unknown, result?: { rows: readonly { readonly read_only: string }[] }) => void,
  ): unknown;
  end(): unknown;
}

/** By the driver's name. */
const setUps: Readonly<Record<string, SetUp>> = {
  'better-sqlite3'(file: OpenedFile, _timeout, done) {
    try {
      setUpFile(file);
    } catch (error) {
      done(error);
      return;
    }
    done();
  },

  // Only the server can end a transaction whose node has crashed, so the limits are set there. Zero means no limit; limits
  // that an administrator has set stay. A pooler such as PgBouncer announces process ids of its own: its server connections are
  // those of other applications too, so nothing is set there.
  pg(connection: PostgresqlConnection, timeout, done) {
    const sql = `
      select current_setting('transaction_read_only') as read_only, (
        select count(set_config(name, '${Math.ceil(timeout)}', false)) from pg_settings where setting = '0'
        and name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')
        and pg_backend_pid() = ${Number(connection.processID)}
      ) as limits`;
    connection.query(sql, (failure, result) => {
      const error = failure ?? (result!.rows[0]!.read_only === 'on' ? new ReadOnlyError() : undefined);
      if (error) connection.end();
      done(error);
    });
  },

  mysql2(connection: ServerConnection, timeout, done) {
    const seconds = Math.ceil(timeout / 1000);
    // Only MariaDB can end an idle transaction, and only MariaDB reads this kind of comment.
    runAlone(
      connection,
      `set session innodb_lock_wait_timeout = least(@@innodb_lock_wait_timeout, ${seconds})
       /*M!100300 , idle_transaction_timeout = if(@@idle_transaction_timeout = 0, ${seconds}, @@idle_transaction_timeout) */`,
      (error) => {
        if (error) done(error);
        else readOwnWrites(connection, done);
      },
    );
  },
};

/** Sets an SQLite file up: readers do not wait for writers (WAL mode), and a commit does not wait for the disk. */
export function setUpFile(file: OpenedFile): void {
  try {
    // First, because a wait for a lock in the next statements would block the thread for seconds.
    file.pragma('busy_timeout = 0');
    useWal(file);
    file.pragma('synchronous = normal');
    // 16 MB, four times the default number of pages: checkpoints, which copy pages into the file, are half the cost of
    // small commits.
    file.pragma('wal_autocheckpoint = 4000');
  } catch (error) {
    file.close();
    throw error;
  }
}

/** Nothing changes for a file that this process may only read: it is read in the mode that it has. */
function useWal(file: OpenedFile): void {
  try {
    file.pragma('journal_mode = wal');
  } catch (error) {
    if (codeOf(error) !== 'SQLITE_READONLY') throw error;
  }
}

// ER_UNKNOWN_SYSTEM_VARIABLE, of a server that was built without Galera.
const UNKNOWN_VARIABLE = 1193;

/**
 * Lets a member of a Galera cluster wait, before it reads or changes rows, until it has applied what the other members have
 * committed. Without that, it does not find a code that another member issued a moment ago. Elsewhere it has no effect.
 */
function readOwnWrites(connection: ServerConnection, done: (error?: unknown) => void): void {
  // 1: select and begin; 2: update and delete; 4: insert.
  connection.query('set session wsrep_sync_wait = @@wsrep_sync_wait | 7', (error) => {
    const isUnknown = error instanceof Error && 'errno' in error && error.errno === UNKNOWN_VARIABLE;
    if (error && !isUnknown) connection.end();
    done(error && !isUnknown ? error : undefined);
  });
}

function runAlone(connection: ServerConnection, sql: string, done: (error?: unknown) => void): void {
  connection.query(sql, (error) => {
    if (error) connection.end();
    done(error ?? undefined);
  });
}
