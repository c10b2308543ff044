import type { Statements } from './statements.ts';

/** What an error of a driver means to a caller. */
export type Trouble =
  /** Others are in the way, as with a lock. Nothing was changed, and it may be tried again at once. */
  | 'contention'
  /** The server has as many connections as it takes. Nothing was changed, and it may be tried again in a while. */
  | 'too many connections'
  /** The statement was stopped because it took too long. Nothing was changed. */
  | 'interrupted'
  /** A table or a column is not there. */
  | 'missing table'
  | 'duplicate key'
  | 'other';

/** The column types of the schema. */
export interface ColumnTypes {
  /** Up to 255 characters, compared exactly: case and trailing blanks count. */
  readonly id: string;
  /** Text of any length, JSON among it. */
  readonly text: string;
  readonly integer: string;
  /** 0 or 1. */
  readonly flag: string;
}

/** What differs between the databases. All SQL outside of a dialect is understood by every one of them. */
export interface Dialect<Connection = unknown> {
  readonly name: 'sqlite' | 'postgresql' | 'mysql';
  readonly types: ColumnTypes;
  /** The database's own time, in milliseconds since 1970, as SQL; `null` where it is this machine's. */
  readonly clock: string;
  /** Starts a transaction that may write. */
  readonly begin: string;
  /** Makes a transaction that was begun otherwise one that may write; absent where every one may. */
  readonly lockForWriting?: string;
  /** Put behind a `select` whose rows must not change until the transaction ends. */
  readonly forUpdate: '' | ' for update';
  /** Whether the parts of a `with` may be inserts and updates, so that one query does what else takes a transaction. */
  readonly canChangeInQueries: boolean;
  /** Whether indexes are part of `create table`, so that creating a table and its indexes can be repeated. */
  readonly inlineIndexes: boolean;
  /** Makes a change of the schema one that is left out when a column is there; absent where changes are rolled back. */
  unlessColumn?(table: string, column: string, sql: string): string[];
  /** Put behind an `insert`: what happens to the row that has the key already. */
  onConflict(conflict: Conflict): string;
  /** Whether an insert counts no row when `onConflict` left the one that was there as it was. */
  readonly countsConflicts: boolean;
  /**
   * Removes some of the rows for which a condition holds: the last `?` is how many at most. What others have changed in the
   * meantime is looked at again.
   */
  deleteSome(table: string, key: readonly string[], condition: string): string;
  /** Readies a connection that the pool handed out. */
  enter(connection: Connection): Statements;
  /** Puts a connection back as it was found. */
  leave(connection: Connection): void;
  /** Ends a failed transaction, whatever state the failure left it in. */
  rollback(connection: Connection): Promise<void>;
  /** For when a server does not answer; absent where nothing can be waited for. */
  readonly rescue?: Rescue<Connection>;
  /** Waits inside a transaction until no other node migrates. Freed by the database itself when the process dies. */
  lockMigrations(statements: Statements): Promise<void>;
  unlockMigrations(statements: Statements): Promise<void>;
  trouble(error: unknown): Trouble;
}

/** What can be done about a connection whose statement does not end. */
export interface Rescue<Connection = unknown> {
  /** Asks the server, on another connection, to stop the statement. */
  cancel(connection: Connection): Promise<void>;
  /** Ends the connection, whatever its server does. The pool will not lend it again. */
  abandon(connection: Connection): void;
}

export interface Conflict {
  readonly table: string;
  /** The columns of the primary key. */
  readonly key: readonly string[];
  /** Columns that get the new value. Without any, and none in `greatest`, the row stays as it is. */
  readonly replace?: readonly string[];
  /** Columns that keep the greater of the two values. */
  readonly greatest?: readonly string[];
  /**
   * What must hold for the row, of columns with their table's name, or it stays as it is. The first column to `replace`
   * must then be one in which no two inserts have the same value.
   */
  readonly when?: string;
}

/** `on conflict` as SQLite and PostgreSQL have it. */
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
