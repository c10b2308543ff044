import { codeOf, onConflict } from '../dialect.ts';
import type { Dialect, Trouble } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';

/** The part of better-sqlite3 that is used here; the package has no types of its own. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): PreparedStatement;
  exec(sql: string): unknown;
  pragma(source: string, options?: { simple: true }): unknown;
}

interface PreparedStatement {
  safeIntegers(enabled: boolean): this;
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- what the SQL selects
  get<Row>(values: readonly Value[]): Row | undefined;
  all<Row>(values: readonly Value[]): Row[];
  run(values: readonly Value[]): { changes: number };
}

interface KnownConnection {
  readonly statements: Statements;
  /** The milliseconds that SQLite itself waits for a lock when the connection's owner uses it. */
  readonly busyTimeout: number;
}

/**
 * SQLite through better-sqlite3.
 *
 * Statements are prepared once for each connection and kept: preparing costs ten times as much as running them.
 * better-sqlite3 blocks the thread while SQLite waits for a lock, so SQLite is told not to wait while the connection is
 * ours: the waiting is done asynchronously, by the retries of the database.
 */
export function sqliteDialect(): Dialect<SqliteConnection> {
  const known = new WeakMap<SqliteConnection, KnownConnection>();

  function know(connection: SqliteConnection): KnownConnection {
    let entry = known.get(connection);
    if (!entry) {
      const busyTimeout = Number(connection.pragma('busy_timeout', { simple: true }));
      entry = { statements: keptStatements(connection), busyTimeout };
      known.set(connection, entry);
    }
    return entry;
  }

  return {
    name: 'sqlite',
    types: { id: 'varchar(255)', text: 'text', integer: 'integer', flag: 'integer' },
    clock: 'null',
    // A transaction that only becomes a writer later fails where it must not: between its read and its write.
    begin: 'begin immediate',
    lockForWriting: 'delete from gatehouse_migrations where 1 = 0',
    forUpdate: '',
    canChangeInQueries: false,
    inlineIndexes: false,
    onConflict: (conflict) => onConflict(conflict, 'max'),
    countsConflicts: true,
    deleteSome(table, key, condition) {
      const columns = key.join(', ');
      return `delete from ${table} where (${columns}) in (select ${columns} from ${table} where ${condition} limit ?)`;
    },
    enter(connection) {
      if (connection.inTransaction) throw new ForeignTransactionError();
      const { statements, busyTimeout } = know(connection);
      if (busyTimeout > 0) connection.exec('pragma busy_timeout = 0');
      return statements;
    },
    leave(connection) {
      const { busyTimeout } = know(connection);
      if (busyTimeout > 0) connection.exec(`pragma busy_timeout = ${busyTimeout}`);
    },
    async rollback(connection) {
      // SQLite has rolled back by itself when the disk is full or the file is gone.
      if (connection.inTransaction) connection.exec('rollback');
    },
    // `begin immediate` lets one writer in.
    async lockMigrations() {},
    async unlockMigrations() {},
    trouble,
  };
}

function keptStatements(connection: SqliteConnection): Statements {
  const kept = new Map<string, PreparedStatement>();

  function prepare(sql: string): PreparedStatement {
    let statement = kept.get(sql);
    if (!statement) {
      // A host may have made bigints the default of its connections.
      statement = connection.prepare(withStablePlan(sql)).safeIntegers(false);
      kept.set(sql, statement);
    }
    return statement;
  }

  return {
    async get<Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> {
      return prepare(sql).get<Row>(values);
    },
    async all<Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> {
      return prepare(sql).all<Row>(values);
    },
    async run(sql: string, values: readonly Value[] = []): Promise<number> {
      return prepare(sql).run(values).changes;
    },
  };
}

/**
 * Keeps SQLite from planning a kept statement anew for each value bound to it, which its STAT4 build does for every join
 * and costs five times what running it does. `likely()` gives back its argument, but is no bare parameter.
 */
function withStablePlan(sql: string): string {
  return sql.replaceAll('?', 'likely(?)');
}

function trouble(error: unknown): Trouble {
  const code = codeOf(error);
  if (code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED')) return 'contention';
  if (code === 'SQLITE_CONSTRAINT_PRIMARYKEY' || code === 'SQLITE_CONSTRAINT_UNIQUE') return 'duplicate key';
  // The code is that of any mistake in SQL; only the message tells them apart.
  const missing = code === 'SQLITE_ERROR' && /no such (table|column)|has no column/.test(String(error));
  return missing ? 'missing table' : 'other';
}

/** The pool handed out a connection on which its owner has begun a transaction behind the pool's back. */
class ForeignTransactionError extends Error {
  readonly code = 'SQLITE_BUSY';

  constructor() {
    super('the connection has an open transaction that this storage did not begin');
  }
}
