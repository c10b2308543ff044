import { createRequire } from 'node:module';

import type { knex as makeKnex } from 'knex';

import { ConfigError } from '../../lib/errors.ts';
import type { SqliteConnection } from './dialects/sqlite.ts';

/*
 * Loaded when they are needed: a server on an SQLite file needs no Knex before its host starts a transaction, and loading Knex
 * takes longer than everything that this package does for a first token.
 */
// A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/** @throws ConfigError when the package is not installed */
export function loadKnex(): typeof makeKnex {
  return load<{ knex: typeof makeKnex }>(() => require('knex'), 'knex').knex;
}

/** The class of better-sqlite3. */
export type OpenSqlite = new (
  filename: string,
  options?: { readonly fileMustExist: boolean },
) => SqliteConnection & {
  /** @param options.progress - called between two steps, returns the number of pages of the next one */
  backup(file: string, options: { readonly progress: () => number }): Promise<unknown>;
};

/** The class that opens SQLite files. @throws ConfigError when the package is not installed */
export function loadBetterSqlite3(): OpenSqlite {
  return load(() => require('better-sqlite3'), 'better-sqlite3');
}

function load<T>(required: () => T, name: string): T {
  try {
    return required();
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause;
    throw missing(name, cause);
  }
}

/** The error for a package that the database needs. */
export function missing(name: string, cause: unknown): ConfigError {
  return new ConfigError('storage', `this database needs the package ${name}; run \`npm install ${name}\``, {
    cause,
  });
}
