import type { Knex } from 'knex';

/** The other names that Knex has for a client. */
const ALIASES: Readonly<Record<string, string>> = { postgres: 'pg', postgresql: 'pg' };

// In milliseconds: what the way to a server may need, also when nobody wants to wait for it that long. Longer would not do:
// as long as connections that will never be are being opened, the pool opens no others.
const LEAST_CONNECT_TIMEOUT = 1000;

/**
 * A configuration for connections that nobody else uses, with every wait bounded by `timeout` milliseconds.
 *
 * What the configuration says itself stays.
 */
export function tuned(config: Knex.Config, timeout: number): Knex.Config {
  const { client, pool } = config;
  const driver = String(typeof client === 'function' ? client.prototype.driverName : client);
  const setUp = setUps[ALIASES[driver] ?? driver];
  const isFile = driver === 'better-sqlite3';
  return {
    acquireConnectionTimeout: timeout,
    ...(isFile ? { useNullAsDefault: true } : {}),
    ...config,
    pool: {
      // A server's connections are closed when nobody needs them; a database in memory lives in its connection.
      ...(isFile ? {} : { min: 0, createTimeoutMillis: Math.max(timeout, LEAST_CONNECT_TIMEOUT) }),
      ...pool,
      ...(setUp ? { afterCreate: afterCreate(setUp, timeout, pool?.afterCreate) } : {}),
    },
  };
}

type Done = (error: unknown, connection: unknown) => void;

/** Knex's hook, with what the configuration has there afterwards. */
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
 * Sets a new connection up that nobody else uses, with `timeout` in milliseconds. One that fails is closed, because the
 * pool never gets to know it.
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

  // The server itself ends what waits too long, and a transaction whose node is gone: nobody else can. Zero is no limit.
  pg(connection: ServerConnection, timeout, done) {
    runAlone(
      connection,
      `select set_config(name, '${Math.ceil(timeout)}', false) from pg_settings where setting = '0'
       and name in ('lock_timeout', 'statement_timeout', 'idle_in_transaction_session_timeout')`,
      done,
    );
  },

  mysql2(connection: ServerConnection, timeout, done) {
    const seconds = Math.ceil(timeout / 1000);
    // MariaDB alone can end an idle transaction, and it alone reads that comment.
    runAlone(
      connection,
      `set session innodb_lock_wait_timeout = least(@@innodb_lock_wait_timeout, ${seconds})
       /*M!100300 , idle_transaction_timeout = if(@@idle_transaction_timeout = 0, ${seconds}, @@idle_transaction_timeout) */`,
      done,
    );
  },
};

/** Sets an SQLite file up: readers do not wait for writers, and a commit does not wait for the disk. */
export function setUpFile(file: OpenedFile): void {
  try {
    // First, because better-sqlite3 would block the thread for seconds.
    file.pragma('busy_timeout = 0');
    file.pragma('journal_mode = wal');
    file.pragma('synchronous = normal');
    // Four times as many pages as by default, 16 MB: copying them into the file is half of what small commits cost.
    file.pragma('wal_autocheckpoint = 4000');
  } catch (error) {
    file.close();
    throw error;
  }
}

function runAlone(connection: ServerConnection, sql: string, done: (error?: unknown) => void): void {
  connection.query(sql, (error) => {
    if (error) connection.end();
    done(error ?? undefined);
  });
}
