import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import knex from 'knex';
import type { Knex } from 'knex';

import { ConfigError } from '../../lib/errors.ts';
import { tuned } from './tuned.ts';

const OPTION = 'storage';

const DRIVERS = ['better-sqlite3', 'pg', 'mysql2'];

const FORMS =
  'sqlite:./data.db, a file name ending in .db, postgres://user@host/name or mysql://user@host/name';

/** What a host gave, as a Knex instance. `owned` when it was opened here, so that it is closed here. */
export interface OpenedKnex {
  readonly knex: Knex;
  readonly owned: boolean;
}

/** @param timeout - in milliseconds: how long connections that are opened here wait, for a server and for locks */
export function openKnex(database: Knex | Knex.Config | string, timeout: number): OpenedKnex {
  if (!(timeout > 0)) throw new ConfigError(OPTION, 'timeout must be a number of milliseconds above 0');
  if (typeof database === 'function') {
    if (database.isTransaction === true) {
      throw new ConfigError(OPTION, 'hand in the Knex instance itself, not a transaction of it');
    }
    return { knex: database, owned: false };
  }
  const config = typeof database === 'string' ? parseUrl(database) : database;
  return { knex: connect(tuned(config, timeout)), owned: true };
}

/** The configuration that an address of a database stands for. */
export function parseUrl(url: string): Knex.Config {
  const protocol = /^([a-z]+):/.exec(url)?.[1];
  switch (protocol) {
    case 'postgres':
    case 'postgresql':
      return { client: 'pg', connection: url, log: SILENT };
    case 'mysql':
    case 'mariadb':
      return { client: 'mysql2', connection: url, log: SILENT };
    case 'sqlite':
      return sqliteFile(url.replace(/^sqlite:(\/\/)?/, ''));
  }
  if (/\.(db|sqlite|sqlite3)$/.test(url)) return sqliteFile(url);
  // Not repeated in the message: it may hold a password.
  throw new ConfigError(OPTION, `this is not an address of a database; use ${FORMS}`);
}

function sqliteFile(filename: string): Knex.Config {
  if (filename === '') throw new ConfigError(OPTION, `the address names no file; use ${FORMS}`);
  const folder = dirname(filename);
  if (filename !== ':memory:' && !existsSync(folder)) {
    throw new ConfigError(OPTION, `the folder ${folder} of the database file does not exist; create it`);
  }
  return { client: 'better-sqlite3', connection: { filename }, log: SILENT };
}

// Every failure reaches the caller as an error; Knex would print it as well.
const SILENT = { warn() {}, error() {}, deprecate() {}, debug() {} };

/** Makes a Knex instance, and says in plain words what a configuration lacks. */
export function connect(config: Knex.Config): Knex {
  try {
    return knex(config);
  } catch (cause) {
    const missing = /npm install (\S+)/.exec(String(cause))?.[1];
    if (missing === undefined) {
      throw new ConfigError(OPTION, 'Knex refuses this configuration; see the cause', { cause });
    }
    if (!DRIVERS.includes(missing)) throw unsupported(missing);
    const remedy = `this database needs the package ${missing}; run \`npm install ${missing}\``;
    throw new ConfigError(OPTION, remedy, { cause });
  }
}

/** The error for a database that this package has no SQL for. */
export function unsupported(driver: string): ConfigError {
  return new ConfigError(OPTION, `the Knex client ${driver} is not supported; use ${DRIVERS.join(', ')}`);
}
