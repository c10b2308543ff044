import type { Milliseconds } from '../../../lib/contracts/duration.ts';
import type { Dialect } from '../dialect.ts';
import { CodedError } from '../error-kinds.ts';
import type { Statements, Value } from '../../../lib/database/statements.ts';
import { standardSql } from './standard-sql.ts';

/** The part of better-sqlite3 that is used here; the package comes without types. */
export interface SqliteConnection {
  readonly inTransaction: boolean;
  prepare(sql: string): PreparedStatement;
  exec(sql: string): unknown;
  pragma(source: string, options?: { simple: true }): unknown;
  close(): unknown;
}

interface PreparedStatement {
  safeIntegers(enabled: boolean): this;
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- the type of the selected columns
  get<Row>(values: readonly Value[]): Row | undefined;
  all<Row>(values: readonly Value[]): Row[];
  run(values: readonly Value[]): { changes: number };
}

interface ConnectionState {
  readonly statements: Statements;
  /** The host's own `busy_timeout` of the connection. */
  readonly busyTimeout: Milliseconds;
}

/**
 * SQLite through better-sqlite3.
 *
 * Statements are prepared once for each connection, because preparing costs ten times as much as running them.
 * better-sqlite3 blocks the thread while SQLite waits for a lock, so SQLite does not wait (`busy_timeout` 0) while this
 * storage uses the connection; `database.ts` waits asynchronously and tries again.
 */
export function sqliteDialect(): Dialect<SqliteConnection> {
  const states = new WeakMap<SqliteConnection, ConnectionState>();

  function stateOf(connection: SqliteConnection): ConnectionState {
    const busyTimeout = Number(connection.pragma('busy_timeout', { simple: true }));
    const state = { statements: preparedStatements(connection), busyTimeout };
    states.set(connection, state);
    return state;
  }

  return {
    ...standardSql({ greatest: 'max' }),
    name: 'sqlite',
    types: {
      id: 'varchar(255)',
      text: 'text',
      integer: 'integer',
      flag: 'integer',
      counter: 'integer default 0',
    },
    clock: 'null',
    // A deferred transaction takes the write lock at its first write, which fails when another one has written since its read.
    begin: 'begin immediate',
    lockForWriting: 'delete from gatehouse_migrations where 1 = 0',
    forUpdate: '',
    canChangeInQueries: false,
    returnsUpdatedRows: true,
    addColumn: 'add column',
    enter(connection) {
      if (connection.inTransaction) {
        // The host has begun it without acquiring the connection from the pool.
        throw new CodedError(
          'SQLITE_BUSY',
          'the connection has an open transaction that this storage did not begin',
        );
      }
      const { statements, busyTimeout } = states.get(connection) ?? stateOf(connection);
      if (busyTimeout > 0) connection.exec('pragma busy_timeout = 0');
      return statements;
    },
    leave(connection) {
      const busyTimeout = states.get(connection)?.busyTimeout ?? 0;
      if (busyTimeout > 0) connection.exec(`pragma busy_timeout = ${busyTimeout}`);
    },
    async rollback(connection) {
      // SQLite rolls back by itself when the disk is full or the file cannot be read.
      if (connection.inTransaction) connection.exec('rollback');
    },
  };
}

function preparedStatements(connection: SqliteConnection): Statements {
  const prepared = new Map<string, PreparedStatement>();

  function prepare(sql: string): PreparedStatement {
    // A host may have set `defaultSafeIntegers()` on its connection, which returns bigints.
    const statement = connection.prepare(withStablePlan(sql)).safeIntegers(false);
    prepared.set(sql, statement);
    return statement;
  }

  return {
    async get<Row>(sql: string, values: readonly Value[] = []): Promise<Row | undefined> {
      return (prepared.get(sql) ?? prepare(sql)).get<Row>(values);
    },
    async all<Row>(sql: string, values: readonly Value[] = []): Promise<Row[]> {
      return (prepared.get(sql) ?? prepare(sql)).all<Row>(values);
    },
    async run(sql: string, values: readonly Value[] = []): Promise<number> {
      return (prepared.get(sql) ?? prepare(sql)).run(values).changes;
    },
  };
}

/**
 * Keeps SQLite from planning a prepared statement again for each bound value. With STAT4, which better-sqlite3 compiles in,
 * SQLite does so for every join whose condition has a bare parameter; this costs five times as much as running the statement.
 * `likely()` returns its argument unchanged.
 */
function withStablePlan(sql: string): string {
  return sql.replaceAll('?', 'likely(?)');
}
