import type { Knex } from 'knex';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import type { SqlConnection, SqlDatabase } from '../../lib/database/port.ts';
import { ConfigError } from '../../lib/errors.ts';
import { setUpFile, sqliteConnection } from '../drivers/better-sqlite3.ts';
import type { SqliteFile } from '../drivers/better-sqlite3.ts';
import { loadBetterSqlite3, missing } from '../drivers/load-better-sqlite3.ts';
import { filenameOf, isPersistent, parseUrl, requireFile, withReadableAddress } from './address.ts';
import { checkpointsInThread } from './checkpoints.ts';
import { withConnectionSettings } from './connection-settings.ts';
import { begin, isDriver, knexDatabase } from './knex-database.ts';
import { loadKnex, unsupported } from './load-knex.ts';

const OPTION = 'storage';

/**
 * @param timeout - how long connections that are opened here wait, for a server and for locks
 * @param createFile - `false`: a missing SQLite file is an error
 */
export function openDatabase(
  database: Knex | Knex.Config | string,
  timeout: Milliseconds,
  createFile = true,
): SqlDatabase {
  if (typeof database === 'function') {
    if (database.isTransaction === true) {
      throw new ConfigError(OPTION, 'pass the Knex instance, not a transaction');
    }
    return knexDatabase(database, { shared: true });
  }
  if (typeof database !== 'string' && (typeof database !== 'object' || (database as unknown) === null)) {
    throw new ConfigError(
      OPTION,
      'pass your Knex instance, its configuration or the URL of a database, such as sqlite:./data.db; is the variable of the environment set?',
    );
  }
  const config = typeof database === 'string' ? parseUrl(database) : database;
  const filename = typeof database === 'string' ? filenameOf(config) : undefined;
  if (!createFile && filename !== undefined) {
    requireFile(filename, 'correct the path, or create the file with `gatehouse migrate`');
  }
  return filename === undefined ? openKnex(config, timeout) : openFile(config, filename, timeout);
}

/** Opens the connection for LISTEN at an address of its own. */
export function listenAt(address: string): NonNullable<SqlDatabase['listen']> {
  // The connection is opened outside the pool, which stays empty, so there is nothing to close.
  const { client } = connect({ ...parseUrl(address), pool: { min: 0, max: 1 } });
  return async () => client.acquireRawConnection();
}

function openKnex(config: Knex.Config, timeout: Milliseconds): SqlDatabase {
  const knex = connect(withConnectionSettings(config, timeout));
  const opened = knexDatabase(knex, { shared: false });
  if (opened.dialect !== 'sqlite') return { ...opened, close: async () => knex.destroy() };
  // The single connection is acquired once, because acquiring it from Knex's pool for each call takes several times as long as most
  // statements on an SQLite file.
  let sole: SqlConnection | undefined;
  return {
    ...opened,
    connect: async () => (sole ??= await opened.connect()),
    async close() {
      await sole?.release(false);
      await knex.destroy();
    },
  };
}

/** Opens an SQLite file without Knex. Only `transaction()` needs Knex, which then uses the connection opened here. */
function openFile(config: Knex.Config, filename: string, timeout: Milliseconds): SqlDatabase {
  const BetterSqlite3 = loadBetterSqlite3();
  const durable = isPersistent(filename);
  let isClosed = false;
  let writing: SqliteFile | undefined;
  let connection: SqlConnection | undefined;
  let reading: (SqlConnection & { readonly file: SqliteFile }) | undefined;
  let knex: Knex | undefined;

  function open(): SqliteFile {
    if (isClosed) throw new Error('the file is closed');
    const file = new BetterSqlite3(filename);
    setUpFile(file);
    return file;
  }

  // In WAL mode it reads the last committed state while the other connection has a transaction open.
  function reader(): SqlConnection {
    if (!reading) {
      const file = open();
      file.pragma('query_only = 1');
      reading = { ...sqliteConnection(file), file };
    }
    return reading;
  }

  const checkpoints = durable
    ? checkpointsInThread(filename, () => (isClosed ? undefined : writing))
    : undefined;

  function openWriter(): SqlConnection {
    writing = open();
    const own = sqliteConnection(writing, checkpoints);
    return {
      ...own,
      async begin(work, beforeCommit) {
        knex ??= connect(withConnectionSettings(config, timeout));
        const result = await begin(knex, own, work, beforeCommit);
        checkpoints?.committed();
        return result;
      },
    };
  }

  return {
    dialect: 'sqlite',
    durable,
    connect: () => (connection ??= openWriter()),
    // A database in memory can be reached by its own connection only.
    ...(durable && { reader }),
    async close() {
      isClosed = true;
      await checkpoints?.close();
      reading?.file.close();
      writing?.close();
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
    throw isDriver(name) ? missing(name, cause) : unsupported(name);
  }
}
