import type { Statements } from './statements.ts';

/** The kind of a driver's error, which decides whether the call is repeated and which error the caller gets. */
export type ErrorKind =
  /** Another transaction is in conflict, such as by a lock. Nothing was changed; an immediate retry may succeed. */
  | 'contention'
  /** The server accepts no more connections. Nothing was changed; a later retry may succeed. */
  | 'too many connections'
  /** The statement was stopped because it took too long. Nothing was changed. */
  | 'interrupted'
  /** A table or a column is not there. */
  | 'missing table'
  | 'duplicate key'
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
  /** Whether indexes are part of `create table`: `create table if not exists` can then be repeated with its indexes. */
  readonly inlineIndexes: boolean;
  /** Statements that run `sql` unless the column exists; absent where a failed migration is rolled back. */
  unlessColumn?(table: string, column: string, sql: string): string[];
  /** Appended to an `insert`: what happens to an existing row with the same key. */
  onConflict(conflict: Conflict): string;
  /** Whether an insert whose `onConflict` changed nothing reports 0 rows. */
  readonly countsConflicts: boolean;
  /**
   * A statement that removes rows that meet a condition; its last `?` is the largest number of rows. A row that another
   * transaction has changed in the meantime is removed only if it still meets the condition.
   */
  deleteSome(table: string, key: readonly string[], condition: string): string;
  /** Prepares a connection from the pool for use by this storage. */
  enter(connection: Connection): Statements;
  /** Undoes what `enter` has changed on the connection. */
  leave(connection: Connection): void;
  /** Ends a failed transaction, whatever state the failure left it in. */
  rollback(connection: Connection): Promise<void>;
  /** For a server that does not answer; absent where there is no server. */
  readonly interruption?: Interruption<Connection>;
  /** Waits inside a transaction until no other node migrates. The database frees the lock when the process dies. */
  lockMigrations(statements: Statements): Promise<void>;
  unlockMigrations(statements: Statements): Promise<void>;
  errorKind(error: unknown): ErrorKind;
}

/** Ways to end a statement that takes too long. */
export interface Interruption<Connection = unknown> {
  /** Asks the server, on another connection, to stop the statement. */
  cancel(connection: Connection): Promise<void>;
  /** Closes the connection without waiting for the server. The pool does not hand it out again. */
  abandon(connection: Connection): void;
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
