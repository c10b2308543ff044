import type { StorageCache } from '../../lib/contracts/index.ts';
import type { Statements, Value } from './statements.ts';

/** The kind of a driver's error, which decides whether the call is repeated and which error the caller gets. */
export type ErrorKind =
  /** Another transaction is in conflict, such as by a lock. Nothing was changed; an immediate retry may succeed. */
  | 'contention'
  /** The server accepts no more connections. Nothing was changed; a later retry may succeed. */
  | 'too many connections'
  /** The statement was stopped because it took too long. Nothing was changed. */
  | 'interrupted'
  /** The server only allows reads, such as a standby. Nothing was changed; another connection may reach the primary. */
  | 'read only'
  /** A table or a column is not there. */
  | 'missing table'
  | 'duplicate key'
  /** A column or an index that is to be added is there, or an index that is to be dropped is not. */
  | 'already changed'
  | 'other';

/** The column types of the schema. */
export interface ColumnTypes {
  /** Up to 255 characters. Comparison respects case and trailing blanks. */
  readonly id: string;
  /** Text of any length, JSON among it. */
  readonly text: string;
  readonly integer: string;
  /** 0 or 1. */
  readonly flag: string;
}

/** What differs between the databases. SQL outside of the dialects is valid in all of them. */
export interface Dialect<Connection = unknown> {
  readonly name: 'sqlite' | 'postgresql' | 'mysql';
  readonly types: ColumnTypes;
  /** SQL for the database's own time in milliseconds since 1970; `null` where the database uses this machine's clock. */
  readonly clock: string;
  /** Starts a transaction that may write. */
  readonly begin: string;
  /** Takes the write lock in a transaction that was not started with `begin`; absent where no such lock exists. */
  readonly lockForWriting?: string;
  /** Appended to a `select` whose rows must not change until the transaction ends. */
  readonly forUpdate: '' | ' for update';
  /** Whether the parts of a `with` may be inserts and updates. One such query then replaces a transaction. */
  readonly canChangeInQueries: boolean;
  /** Whether an update can return the rows that it has changed, and no other transaction changes those that it reads. */
  readonly returnsUpdatedRows: boolean;
  /** Follows the name of a table in an update that names the whole primary key, where another index may be chosen otherwise. */
  readonly primaryKeyHint: string;
  /** Follows a table, or its alias, in a query that is to use one of its indexes, where the order of another may be chosen otherwise. */
  indexHint(index: string): string;
  /** Whether indexes are part of `create table`: `create table if not exists` can then be repeated with its indexes. */
  readonly inlineIndexes: boolean;
  /** How a migration adds a column. `add column` alone fails when the column exists. */
  readonly addColumn: 'add column' | 'add column if not exists';
  /** A condition: rows after another one in the order of the columns. An index of them finds the first of those. */
  rowsAfter(columns: readonly string[], values: readonly Value[]): Condition;
  /** Appended to an `insert`: what happens to an existing row with the same key. */
  onConflict(conflict: Conflict): string;
  /** Whether an insert whose `onConflict` changed nothing reports 0 rows. */
  readonly countsConflicts: boolean;
  /**
   * Removes up to `limit` rows that meet a condition, and resolves to their number. A row that another transaction has changed in
   * the meantime is removed only if it still meets the condition.
   */
  deleteSome(statements: Statements, rows: RemovableRows, limit: number): Promise<number>;
  /**
   * Removes up to `limit` expired rows in the order of their expiry, and resolves to the expiry of each. Leaves out the rows that
   * another transaction has locked, such as those that another node is removing.
   */
  deleteExpired(connections: Connections, rows: ExpiredRows, limit: number): Promise<readonly number[]>;
  /** Prepares a connection from the pool for use by this storage. */
  enter(connection: Connection): Statements;
  /** Undoes what `enter` has changed on the connection. */
  leave(connection: Connection): void;
  /** Ends a failed transaction, whatever state the failure left it in. */
  rollback(connection: Connection): Promise<void>;
  /**
   * A query that changes nothing and, where there is a synchronous standby, makes its transaction wait until the standby has all that
   * is visible. Absent where nothing is visible that may not last.
   */
  readonly confirmation?: string;
  /** Throws an error of the kind `read only` when the server of the connection only allows reads. */
  requireWritable?(statements: Statements): Promise<void>;
  /** For a server that does not answer; absent where there is no server. */
  readonly interruption?: Interruption<Connection>;
  /**
   * Waits inside a transaction until no other node migrates; the end of the transaction unlocks. Absent where the transaction
   * itself is such a lock, and where nodes may migrate side by side.
   */
  lockMigrations?(statements: Statements): Promise<void>;
  /** Fails when the user may not create and change tables; absent where a file has no users. Changes nothing. */
  checkMigrating?(statements: Statements): Promise<void>;
  /**
   * Reads the size of the server's cache and of the tables; `undefined` when the server does not tell. Absent where the operating
   * system caches the tables.
   */
  readCache?(statements: Statements): Promise<StorageCache | undefined>;
  errorKind(error: unknown): ErrorKind;
}

/** Ways to end a statement that takes too long. */
export interface Interruption<Connection = unknown> {
  /** Asks the server, on another connection, to stop the statement. */
  cancel(connection: Connection): Promise<void>;
  /** Closes the connection without waiting for the server. The pool does not hand it out again. */
  abandon(this: void, connection: Connection): Promise<void>;
  /**
   * Checks what the server has said since the last call about changes that it reported as made.
   * @throws NotReplicatedError when they may not last
   */
  confirm?(connection: Connection): void;
}

/** A part of a `where`, and the values to bind. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The part of the database that runs statements together. */
interface Connections {
  /** Runs statements on one connection, without a transaction. */
  connection<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

export interface RemovableRows {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly condition: string;
  /** Of the condition. */
  readonly values: readonly Value[];
}

export interface ExpiredRows {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** The column with the expiry, which has an index of its own. */
  readonly column: string;
  /** The least expiry that is looked for. */
  readonly from: number;
  /** Rows that expired before this time are removed. */
  readonly before: number;
}

export interface Conflict {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Columns that get the new value. When this and `greatest` are empty, the existing row is not changed. */
  readonly replace?: readonly string[];
  /** Columns that get the greater of the two values. */
  readonly greatest?: readonly string[];
  /**
   * A condition on the existing row, its columns written with the table's name; a row that does not meet it is not changed.
   * The first column of `replace` must then have a different value in every insert, because MySQL recognizes by it whether
   * the condition was met.
   */
  readonly when?: string;
}

/** A query of the keys of removable rows; its last `?` is their largest number. */
export function selectKeys({ table, key, condition }: RemovableRows): string {
  return `select ${key.join(', ')} from ${table} where ${condition} limit ?`;
}

/** A query of columns of expired rows; its values are `from`, `before` and the largest number of rows. */
export function selectExpired(
  columns: readonly string[],
  { table, column }: Pick<ExpiredRows, 'table' | 'column'>,
  isFrom = `${column} >= ?`,
): string {
  return `select ${columns.join(', ')} from ${table} where ${isFrom} and ${column} < ? order by ${column} limit ?`;
}

export const SKIP_LOCKED = ' for update skip locked';

/**
 * For SQLite and PostgreSQL.
 *
 * @param selectKeysOf - its values are those of {@link selectExpired}
 */
export async function deleteExpired(
  connections: Connections,
  selectKeysOf: string,
  { rows, limit }: { readonly rows: ExpiredRows; readonly limit: number },
): Promise<readonly number[]> {
  const { table, key, column, from, before } = rows;
  const sql = `delete from ${table} where (${key.join(', ')}) in (${selectKeysOf}) returning ${column} as expiry`;
  const removed = await connections.connection(async (statements) =>
    statements.all<{ expiry: number | string }>(sql, [from, before, limit]),
  );
  return removed.map(({ expiry }) => Number(expiry));
}

/** The condition of SQLite and PostgreSQL. */
export function rowsAfter(columns: readonly string[], values: readonly Value[]): Condition {
  return { sql: `(${columns.join(', ')}) > (${columns.map(() => '?').join(', ')})`, values };
}

/** The `on conflict` clause of SQLite and PostgreSQL. */
export function onConflict(
  { table, key, replace = [], greatest = [], when }: Conflict,
  greatestOf: 'max' | 'greatest',
): string {
  const assignments = [
    ...replace.map((column) => `${column} = excluded.${column}`),
    ...greatest.map((column) => `${column} = ${greatestOf}(excluded.${column}, ${table}.${column})`),
  ];
  const conflict = `on conflict (${key.join(', ')})`;
  if (assignments.length === 0) return `${conflict} do nothing`;
  const condition = when === undefined ? '' : ` where ${when}`;
  return `${conflict} do update set ${assignments.join(', ')}${condition}`;
}

/** The `code` of a driver's error. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}
