import { createRequire } from 'node:module';

import type { knex as makeKnex } from 'knex';

import { ConfigError } from '../../lib/errors.ts';
import { missing } from '../drivers/load-better-sqlite3.ts';

// Loaded when it is needed: a server on an SQLite file needs no Knex before its host starts a transaction, and loading it takes longer
// than everything that this package does for a first token. A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/** @throws ConfigError when the package is not installed */
export function loadKnex(): typeof makeKnex {
  try {
    return (require('knex') as { knex: typeof makeKnex }).knex;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw cause;
    throw missing('knex', cause);
  }
}

/** The error for a database that this package has no SQL for. */
export function unsupported(driver: string): ConfigError {
  return new ConfigError(
    'storage',
    `the Knex client ${driver} is not supported; use better-sqlite3, pg, mysql2`,
  );
}
