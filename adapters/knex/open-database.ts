import type { Knex } from 'knex';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { ConfigError } from '../../lib/errors.ts';
import {
  filenameOf,
  isPersistent,
  parseUrl,
  refuseFileOfServer,
  requireFile,
  withReadableAddress,
} from './address.ts';
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
import { loadBetterSqlite3, loadKnex, missing } from './load-driver.ts';
import { SoleConnection } from './sole-connection.ts';
import type { Statements } from '../../lib/database/statements.ts';

const OPTION = 'storage';

const DRIVERS = ['better-sqlite3', 'pg', 'mysql2'];

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
    return { ...fromKnex(database), async close() {} };
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

/** Opens a database in memory, whose tables exist at once. */
export function openMemory(
  timeout: Milliseconds,
  setUp: (file: SqliteConnection, dialect: Dialect) => void,
): OpenedDatabase {
  return openFile(parseUrl('sqlite::memory:'), ':memory:', timeout, setUp);
}

function fromKnex(knex: Knex): Omit<OpenedDatabase, 'close'> {
  const { client } = knex;
  const { filename } = Object(client.connectionSettings) as { readonly filename?: unknown };
  refuseFileOfServer(knex);
  const dialect = dialectOf(knex);
  const canListen = dialect.name === 'postgresql' && client.config.connectionPool === undefined;
  return {
    pool: client,
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
  const opened = fromKnex(knex);
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
function openFile(
  config: Knex.Config,
  filename: string,
  timeout: Milliseconds,
  setUp?: (file: SqliteConnection, dialect: Dialect) => void,
): OpenedDatabase {
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
    setUp?.(file, dialect);
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

/**
 * Creates a Knex instance.
 *
 * @throws ConfigError with the remedy, for a configuration that Knex refuses or a driver that is not installed
 */
export function connect(config: Knex.Config): Knex {
  const knex = loadKnex();
  const readable = withReadableAddress(config);
  try {
    return knex(readable);
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
