import type { StorageCache } from '../contracts/diagnosis.ts';
import type { Milliseconds, Seconds } from '../contracts/duration.ts';
import type { SqlConnection } from './port.ts';
import type { Statements, Value } from './statements.ts';
import type { ColumnType } from './table.ts';

/** The column types of the schema, in the SQL of a database. */
export type ColumnTypes = Readonly<Record<ColumnType, string>>;

/** SQL that MariaDB and MySQL write differently from SQLite and PostgreSQL. */
export interface SqlSyntax {
  /** Follows the name of a table in an update by the whole primary key, so that the server does not choose another index. */
  readonly primaryKeyHint: string;
  /** Follows a table, or its alias, in a query that is to use this index, so that the server does not choose the order of another one. */
  indexHint(index: string): string;
  /** Whether indexes are part of `create table`: `create table if not exists` can then be repeated with its indexes. */
  readonly inlineIndexes: boolean;
  /** The keys in a `create table`, and what the column of the type `sequence` needs. */
  keys(key: string, sequence: string | undefined): readonly string[];
  /** How a `create table` ends. */
  readonly tableOptions: '' | ' engine = InnoDB';
  /** A condition for the rows that follow given values in the order of the columns. An index on the columns finds the first such row. */
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
  deleteExpired(database: Changes, rows: ExpiredRows, limit: number): Promise<readonly number[]>;
}

/** What differs between the databases. SQL outside of the dialects is valid in all of them. */
export interface Dialect extends SqlSyntax {
  readonly name: 'sqlite' | 'postgresql' | 'mysql';
  readonly types: ColumnTypes;
  /** SQL for the database's own time in milliseconds since 1970; `null` where the database uses this machine's clock. */
  readonly clock: string;
  /** Starts a transaction that may write. */
  readonly begin: string;
  /** Appended to a `select` whose rows must not change until the transaction ends. */
  readonly forUpdate: '' | ' for update';
  /** Whether the parts of a `with` may be inserts and updates. One such query then replaces a transaction. */
  readonly canChangeInQueries: boolean;
  /** Whether an update can return the rows that it has changed, while no other transaction changes the rows that it reads. */
  readonly returnsUpdatedRows: boolean;
  /** How a migration adds a column. `add column` alone fails when the column exists. */
  readonly addColumn: 'add column' | 'add column if not exists';
  /** The statements of a connection, which end at the server after `longest` milliseconds where it can do that. */
  enter(connection: SqlConnection, longest: Milliseconds): Statements;
  /** Ends a failed transaction, whatever state the failure left it in. When it rejects, the connection cannot be used again. */
  rollback(this: void, connection: SqlConnection): Promise<void>;
  /** Whether the server of a connection runs several statements as one, see `compound-statement.ts`. Absent where none does. */
  hasCompoundStatements?(this: void, connection: SqlConnection): Promise<boolean>;
  /**
   * A query that changes nothing and, where there is a synchronous standby, makes its transaction wait until the standby has all that is
   * visible. Absent where everything that is visible lasts.
   */
  readonly confirmation?: string;
  /**
   * Throws when the server has rolled back the transaction of a host, or will roll it back, because a statement in it has failed, but
   * would report its commit as done. Absent where the commit fails in this case.
   */
  requireLive?(this: void, statements: Statements): Promise<void>;
  /** Throws an error of the kind `read only` when the server of the connection only allows reads. */
  requireWritable?(statements: Statements): Promise<void>;
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
  /** The names of the tables of this storage that have no transactions; absent where every table has them. */
  findWithoutTransactions?(statements: Statements): Promise<readonly string[]>;
}

/** A part of a `where`, and the values to bind. */
export interface Condition {
  readonly sql: string;
  readonly values: readonly Value[];
}

/** The part of the database that changes rows. */
interface Changes {
  returning<Row>(sql: string, values: readonly Value[]): Promise<Row[]>;
  transaction<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
}

export interface RemovableRows {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  readonly condition: string;
  /** The values to bind in the condition. */
  readonly values: readonly Value[];
}

export interface ExpiredRows {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** The column with the expiry, which has an index of its own. */
  readonly column: string;
  /** The earliest expiry that is looked for. */
  readonly from: Seconds;
  /** Rows that expired before this time are removed. */
  readonly before: Seconds;
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
