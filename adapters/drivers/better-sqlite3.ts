import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { codeOf, CodedError } from '../../lib/database/error-kinds.ts';
import type { SqlConnection, SqlDatabase } from '../../lib/database/port.ts';
import type { Value } from '../../lib/database/statements.ts';

/** The part of better-sqlite3 that is used here; the package comes without types. */
export interface SqliteFile {
  readonly inTransaction: boolean;
  /** Whether no file remains when the database is closed. */
  readonly memory: boolean;
  prepare(sql: string): PreparedStatement;
  exec(sql: string): unknown;
  pragma(source: string, options?: { simple: true }): unknown;
  close(): unknown;
}

interface PreparedStatement {
  readonly reader: boolean;
  safeIntegers(enabled: boolean): this;
  all(values: readonly Value[]): object[];
  run(values: readonly Value[]): { changes: number };
}

/** Called around transactions of a file in WAL mode. */
interface Checkpoints {
  paused(): Promise<void>;
  committed(): void;
}

/** SQLite by a database of better-sqlite3 that only this storage uses. It stays open when the storage is closed. */
export function betterSqlite3Database(file: SqliteFile): SqlDatabase {
  const connection = sqliteConnection(file);
  // While SQLite waits for a lock, the thread does nothing else.
  file.pragma('busy_timeout = 0');
  return { dialect: 'sqlite', durable: !file.memory, connect: () => connection, async close() {} };
}

/** An open database as a connection. Statements are prepared once, because that takes ten times as long as running them. */
export function sqliteConnection(native: SqliteFile, checkpoints?: Checkpoints): SqlConnection {
  const prepared = new Map<string, PreparedStatement>();

  function prepare(sql: string): PreparedStatement {
    // A host may have set `defaultSafeIntegers()` on its connection, which returns bigints.
    const statement = native.prepare(sql).safeIntegers(false);
    prepared.set(sql, statement);
    return statement;
  }

  return {
    native,
    async query(sql, values) {
      if (checkpoints && sql === 'begin immediate') await checkpoints.paused();
      const statement = prepared.get(sql) ?? prepare(sql);
      if (statement.reader) return { rows: statement.all(values), changes: 0 };
      const { changes } = statement.run(values);
      if (checkpoints && sql === 'commit') checkpoints.committed();
      return { rows: [], changes };
    },
    inTransaction: () => native.inTransaction,
    release() {},
  };
}

// Takes the write lock in a transaction that the host's library has begun.
export const LOCK = 'delete from gatehouse_migrations where 1 = 0';

const files = new WeakMap<
  SqliteFile,
  { readonly connection: SqlConnection; readonly busyTimeout: Milliseconds }
>();

/**
 * The connection of a database that a host uses too, between two calls. Until it is given back, SQLite does not wait for locks, because
 * that would block the thread.
 */
export function sharedSqliteConnection(
  native: SqliteFile,
  giveBack: SqlConnection['release'],
): SqlConnection & { readonly leave: () => void } {
  if (native.inTransaction) {
    // The host has begun the transaction without acquiring the connection from the pool.
    throw new CodedError(
      'SQLITE_BUSY',
      'the connection has an open transaction that this storage did not begin',
    );
  }
  let known = files.get(native);
  if (!known) {
    const busyTimeout = Number(native.pragma('busy_timeout', { simple: true }));
    known = { connection: sqliteConnection(native), busyTimeout };
    files.set(native, known);
  }
  const { busyTimeout, connection } = known;
  if (busyTimeout > 0) native.exec('pragma busy_timeout = 0');
  const leave = (): void => {
    if (busyTimeout > 0) native.exec(`pragma busy_timeout = ${busyTimeout}`);
  };
  return {
    ...connection,
    leave,
    release(isBroken) {
      leave();
      return giveBack(isBroken);
    },
  };
}

/** Sets an SQLite file up: readers do not wait for writers (WAL mode), and a commit does not wait for the disk. */
export function setUpFile(file: SqliteFile): void {
  try {
    // First, because a wait for a lock in the next statements would block the thread for seconds.
    file.pragma('busy_timeout = 0');
    useWal(file);
    file.pragma('synchronous = normal');
    // 16 MB, four times the default number of pages: checkpoints, which copy pages into the file, are half the cost of
    // small commits.
    file.pragma('wal_autocheckpoint = 4000');
  } catch (error) {
    file.close();
    throw error;
  }
}

/** A file that this process may only read keeps the mode that it has. */
function useWal(file: SqliteFile): void {
  try {
    file.pragma('journal_mode = wal');
  } catch (error) {
    if (codeOf(error) !== 'SQLITE_READONLY') throw error;
  }
}
