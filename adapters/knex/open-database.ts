import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import type { Knex } from 'knex';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { ConfigError } from '../../lib/errors.ts';
import type { ConnectionPool } from './bounded-waits.ts';
import { checkpointsInThread } from './checkpoints.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { ListeningConnection } from './changes.ts';
import { setUpFile, withConnectionSettings } from './connection-settings.ts';
import type { Dialect } from './dialect.ts';
import { mysqlDialect } from './dialects/mysql.ts';
import { postgresqlDialect } from './dialects/postgresql.ts';
import { sqliteDialect } from './dialects/sqlite.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';
import { KeptConnections } from './kept-connections.ts';
import { loadBetterSqlite3, loadKnex, missing } from './load-driver.ts';
import { SoleConnection } from './sole-connection.ts';
import type { Statements } from './statements.ts';

const OPTION = 'storage';

// The largest number of connections in a pool of Knex whose configuration has none.
const KNEX_POOL = 10;

const DRIVERS = ['better-sqlite3', 'pg', 'mysql2'];

const FORMS =
  'sqlite:./data.db, a file name ending in .db, postgres://user@host/name or mysql://user@host/name';

/** An open database. */
export interface OpenedDatabase {
  readonly pool: ConnectionPool;
  readonly dialect: Dialect;
  /** `false`: an SQLite database in memory. */
  readonly durable: boolean;
  /** A second, read-only connection, which does not wait for writers; absent where the pool has several connections. */
  readonly reader?: (this: void) => Statements;
  /** Absent where the connections are not those of a file that was opened here. */
  readonly checkpoints?: Checkpoints;
  /** The host's Knex instance, or an own one that is created at the first call. */
  knex(): Knex;
  /**
   * Opens a connection to PostgreSQL besides the pool, for LISTEN; `undefined` when the Knex instance is closed. Absent for other
   * databases, and for a pool whose server Knex does not know.
   */
  readonly openListener?: () => Promise<ListeningConnection | undefined>;
  /** Closes the connections that were opened here; a Knex instance of the host stays open. */
  close(): Promise<void>;
}

/**
 * @param timeout - how long connections that are opened here wait, for a server and for locks
 * @param create - `false`: a missing SQLite file is an error
 */
export function openDatabase(
  database: Knex | Knex.Config | string,
  timeout: Milliseconds,
  create = true,
): OpenedDatabase {
  if (typeof database === 'function') {
    if (database.isTransaction === true) {
      throw new ConfigError(OPTION, 'pass the Knex instance, not a transaction');
    }
    return { ...fromKnex(database, { isShared: true }), async close() {} };
  }
  if (typeof database !== 'string' && (typeof database !== 'object' || (database as unknown) === null)) {
    throw new ConfigError(
      OPTION,
      'pass your Knex instance, its configuration or the URL of a database, such as sqlite:./data.db; is the variable of the environment set?',
    );
  }
  const config = typeof database === 'string' ? parseUrl(database) : database;
  const filename = typeof database === 'string' ? filenameOf(config) : undefined;
  if (!create && filename !== undefined) {
    requireFile(filename, 'correct the path, or create the file with `gatehouse migrate`');
  }
  return filename === undefined ? openKnex(config, timeout) : openFile(config, filename, timeout);
}

function fromKnex(knex: Knex, { isShared }: { readonly isShared: boolean }): Omit<OpenedDatabase, 'close'> {
  const { filename } = Object(knex.client.connectionSettings) as { readonly filename?: unknown };
  const { client } = knex;
  const dialect = dialectOf(knex);
  const canListen = dialect.name === 'postgresql' && client.config.connectionPool === undefined;
  return {
    pool:
      dialect.name === 'sqlite'
        ? client
        : new KeptConnections(client, { isShared, most: client.config.pool?.max ?? KNEX_POOL }),
    dialect,
    durable: isPersistent(filename),
    knex: () => knex,
    ...(canListen && { openListener: async () => (client.pool ? client.acquireRawConnection() : undefined) }),
  };
}

/** Opens the connection for LISTEN at an address of its own. */
export function openListenerAt(address: string): Required<Pick<OpenedDatabase, 'openListener'>> {
  // Without a pool, because it hands out no connection; so there is nothing to close.
  const { client } = connect({ ...parseUrl(address), pool: { min: 0, max: 1 } });
  return { openListener: async () => client.acquireRawConnection() };
}

function openKnex(config: Knex.Config, timeout: Milliseconds): OpenedDatabase {
  const knex = connect(withConnectionSettings(config, timeout));
  const opened = fromKnex(knex, { isShared: false });
  const sole = opened.dialect.name === 'sqlite' ? new SoleConnection(knex.client) : undefined;
  return {
    ...opened,
    pool: sole ?? opened.pool,
    async close() {
      await sole?.returnToPool();
      await knex.destroy();
    },
  };
}

/** Opens an SQLite file without Knex. Only `transaction()` needs Knex, which then uses the connection opened here. */
function openFile(config: Knex.Config, filename: string, timeout: Milliseconds): OpenedDatabase {
  const BetterSqlite3 = loadBetterSqlite3();
  const dialect = sqliteDialect();
  const isDurable = isPersistent(filename);
  let isClosed = false;
  let writing: SqliteConnection | undefined;
  let reading: SqliteConnection | undefined;
  let knex: Knex | undefined;

  function open(): SqliteConnection {
    if (isClosed) throw new Error('the file is closed');
    const file = new BetterSqlite3(filename);
    setUpFile(file);
    return file;
  }

  // In WAL mode it reads the last committed state while the other connection has a transaction open.
  function reader(): Statements {
    if (!reading) {
      const file = open();
      file.pragma('query_only = 1');
      reading = file;
    }
    return dialect.enter(reading);
  }

  const sole = new SoleConnection({
    acquireConnection: async () => (writing = open()),
    releaseConnection: async (file) => void file.close(),
  });
  const checkpoints = isDurable
    ? checkpointsInThread(filename, () => (isClosed ? undefined : writing))
    : undefined;
  return {
    pool: sole,
    dialect,
    durable: isDurable,
    // A database in memory can be reached by its own connection only.
    ...(checkpoints && { reader, checkpoints }),
    knex: () => (knex ??= connect(withConnectionSettings(config, timeout))),
    async close() {
      isClosed = true;
      await checkpoints?.close();
      reading?.close();
      await sole.returnToPool();
      await knex?.destroy();
    },
  };
}

/** SQLite removes a file without a name when it is closed. */
function isPersistent(filename: unknown): boolean {
  return filename !== ':memory:' && filename !== '';
}

export function filenameOf({ connection }: Knex.Config): string | undefined {
  const isInFile = typeof connection === 'object' && 'filename' in connection;
  return isInFile ? connection.filename : undefined;
}

/** Knex's clients for the protocols of addresses. */
const CLIENTS: Readonly<Record<string, string>> = {
  postgres: 'pg',
  postgresql: 'pg',
  mysql: 'mysql2',
  mariadb: 'mysql2',
};

/** The Knex configuration for the address of a database. */
export function parseUrl(url: string): Knex.Config {
  const protocol = /^([a-z]+):/.exec(url)?.[1] ?? '';
  const client = Object.hasOwn(CLIENTS, protocol) ? CLIENTS[protocol] : undefined;
  if (client !== undefined) return { client, connection: url, log: SILENT };
  if (protocol === 'sqlite') return sqliteFile(url.replace(/^sqlite:(\/\/)?/, ''));
  // A letter and a colon are a drive of Windows.
  if (protocol.length <= 1 && /\.(db|sqlite|sqlite3)$/.test(url)) return sqliteFile(url);
  if (/^[a-z]{2,12}$/.test(protocol))
    throw new ConfigError(OPTION, `there is no kind of database "${protocol}:"; use ${FORMS}`);
  // The message does not repeat the address, because it may contain a password.
  throw new ConfigError(OPTION, `this is not the URL of a database; use ${FORMS}`);
}

function sqliteFile(filename: string): Knex.Config {
  if (filename === '') throw new ConfigError(OPTION, `the URL has no file name; use ${FORMS}`);
  const folder = dirname(filename);
  if (filename !== ':memory:' && !existsSync(folder)) {
    throw new ConfigError(OPTION, `the folder ${folder} of the database file does not exist; create it`);
  }
  return { client: 'better-sqlite3', connection: { filename }, log: SILENT };
}

/** @throws ConfigError when there is no such file, which SQLite would create */
export function requireFile(filename: string, remedy: string): void {
  if (!isPersistent(filename) || existsSync(filename)) return;
  throw new ConfigError(OPTION, `there is no database file ${filename}; ${remedy}`);
}

// Every failure reaches the caller as an error; without this, Knex would print it as well.
const SILENT = { warn() {}, error() {}, deprecate() {}, debug() {} };

/**
 * Creates a Knex instance.
 *
 * @throws ConfigError with the remedy, for a configuration that Knex refuses or a driver that is not installed
 */
export function connect(config: Knex.Config): Knex {
  const knex = loadKnex();
  try {
    return knex(config);
  } catch (cause) {
    const name = /npm install (\S+)/.exec(String(cause))?.[1];
    if (name === undefined) {
      throw new ConfigError(OPTION, 'Knex refuses this configuration; see the cause', { cause });
    }
    throw DRIVERS.includes(name) ? missing(name, cause) : unsupported(name);
  }
}

function dialectOf({ client }: Knex): Dialect {
  const driver = String(client.driverName);
  switch (driver) {
    case 'better-sqlite3':
      return sqliteDialect();
    case 'pg':
      return postgresqlDialect(client);
    case 'cockroachdb':
      return postgresqlDialect(client, { isCockroach: true });
    case 'mysql2':
      return mysqlDialect(client);
    default:
      throw unsupported(driver);
  }
}

/** The error for a database that this package has no SQL for. */
function unsupported(driver: string): ConfigError {
  return new ConfigError(OPTION, `the Knex client ${driver} is not supported; use ${DRIVERS.join(', ')}`);
}
