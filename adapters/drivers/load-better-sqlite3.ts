import { createRequire } from 'node:module';

import { ConfigError } from '../../lib/errors.ts';
import type { SqliteFile } from './better-sqlite3.ts';

// Loaded when it is needed. A bundle in the format CommonJS has no `import.meta.url`.
const require = createRequire(import.meta.url ?? __filename);

/** The class of better-sqlite3. */
export type OpenSqlite = new (
  filename: string,
  options?: { readonly fileMustExist: boolean },
) => SqliteFile & {
  /** @param options.progress - called between two steps, returns the number of pages of the next one */
  backup(file: string, options: { readonly progress: () => number }): Promise<unknown>;
};

/** The class that opens SQLite files; `undefined` when the package is not installed. */
export function findBetterSqlite3(): OpenSqlite | undefined {
  try {
    return require('better-sqlite3') as OpenSqlite;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'MODULE_NOT_FOUND') throw error;
    return undefined;
  }
}

/** The class that opens SQLite files. @throws ConfigError when the package is not installed */
export function loadBetterSqlite3(): OpenSqlite {
  const found = findBetterSqlite3();
  if (!found) throw missing('better-sqlite3');
  return found;
}

/** The error for a package that the database needs. */
export function missing(name: string, cause?: unknown): ConfigError {
  return new ConfigError('storage', `this database needs the package ${name}; run \`npm install ${name}\``, {
    cause,
  });
}
