import type { Milliseconds, Storage } from '../../lib/contracts/index.ts';
import { sqliteDialect } from '../../lib/database/dialects/sqlite.ts';
import { schemaOf } from '../../lib/database/migrations.ts';
import type { SqlDatabase } from '../../lib/database/port.ts';
import { createStorage } from '../../lib/database/storage.ts';
import { ConfigError } from '../../lib/errors.ts';
import { betterSqlite3Database } from '../drivers/better-sqlite3.ts';
import { findBetterSqlite3 } from '../drivers/load-better-sqlite3.ts';
import { nodeSqliteDatabase } from '../drivers/node-sqlite.ts';

// A call waits for nothing but the process itself, which may be busy.
const TIMEOUT: Milliseconds = 60_000;

/**
 * Storage in the memory of this process, for tests and first steps: SQLite without a file, by `better-sqlite3` where it is installed,
 * else by `node:sqlite`, for which Node 22 prints a warning that it is experimental.
 *
 * Its data is lost when the process ends, and other nodes cannot read it. It needs no migration, and `close()` does nothing: another
 * server of the process may go on with it. `transaction()` passes the open database to the work.
 *
 * @throws ConfigError when this Node has no `node:sqlite` and `better-sqlite3` is not installed
 */
export function memoryStorage(): Storage {
  const storage = createStorage(openMemory(), { listen: false, timeout: TIMEOUT });
  return { ...storage, async close() {} };
}

function openMemory(): SqlDatabase {
  const BetterSqlite3 = findBetterSqlite3();
  if (BetterSqlite3) {
    const file = new BetterSqlite3(':memory:');
    createTables(file);
    return betterSqlite3Database(file);
  }
  // Not imported, because the import itself warns, or fails.
  const builtin = process.getBuiltinModule('node:sqlite') as typeof import('node:sqlite') | undefined;
  if (!builtin) {
    throw new ConfigError('storage', 'this Node has no node:sqlite; run `npm install better-sqlite3`');
  }
  const file = new builtin.DatabaseSync(':memory:');
  createTables(file);
  return nodeSqliteDatabase(file);
}

function createTables(file: { exec(sql: string): unknown }): void {
  for (const sql of schemaOf(sqliteDialect())) file.exec(sql);
}
