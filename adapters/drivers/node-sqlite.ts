import type { DatabaseSync, StatementSync } from 'node:sqlite';

import type { SqlConnection, SqlDatabase } from '../../lib/database/port.ts';

/** The names that better-sqlite3 gives SQLite's error codes. `node:sqlite` gives only the numbers. */
const CODES: Readonly<Record<number, string>> = {
  1: 'SQLITE_ERROR',
  5: 'SQLITE_BUSY',
  6: 'SQLITE_LOCKED',
  8: 'SQLITE_READONLY',
  10: 'SQLITE_IOERR',
  11: 'SQLITE_CORRUPT',
  13: 'SQLITE_FULL',
  14: 'SQLITE_CANTOPEN',
  26: 'SQLITE_NOTADB',
  1555: 'SQLITE_CONSTRAINT_PRIMARYKEY',
  2067: 'SQLITE_CONSTRAINT_UNIQUE',
};

interface Prepared {
  readonly statement: StatementSync;
  readonly isQuery: boolean;
}

/** SQLite by a database of `node:sqlite` that only this storage uses. It stays open when the storage is closed. */
export function nodeSqliteDatabase(native: DatabaseSync): SqlDatabase {
  const prepared = new Map<string, Prepared>();

  function prepare(sql: string): Prepared {
    const statement = native.prepare(sql);
    const one = { statement, isQuery: statement.columns().length > 0 };
    prepared.set(sql, one);
    return one;
  }

  const connection: SqlConnection = {
    native,
    async query(sql, values) {
      try {
        const { isQuery, statement } = prepared.get(sql) ?? prepare(sql);
        if (isQuery) return { rows: statement.all(...values), changes: 0 };
        return { rows: [], changes: Number(statement.run(...values).changes) };
      } catch (error) {
        throw withCode(error as Error & { errcode?: number });
      }
    },
    inTransaction: () => native.isTransaction,
    release() {},
  };
  // While SQLite waits for a lock, the thread does nothing else.
  native.exec('pragma busy_timeout = 0');
  return {
    dialect: 'sqlite',
    durable: native.location() !== null,
    connect: () => connection,
    async close() {},
  };
}

function withCode(error: Error & { errcode?: number }): Error {
  const { errcode = 0 } = error;
  // The last byte of an extended code is the primary code.
  const code = CODES[errcode] ?? CODES[errcode & 0xff];
  return code === undefined ? error : Object.assign(error, { code });
}
