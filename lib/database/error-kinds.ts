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
  /** An earlier statement of the transaction has failed, and the server ends the transaction only by a rollback. Nothing was changed. */
  | 'rolled back'
  /** A table or a column does not exist. */
  | 'missing table'
  | 'duplicate key'
  /** A column or an index to add exists already, or an index to drop does not exist. */
  | 'already changed'
  /** No connection of the pool became free within the timeout of the storage or of Knex's own pool. */
  | 'no connection'
  /** The server did not answer in time. Whether it made the change of the statement is not known. */
  | 'no answer'
  /** The wait for a synchronous standby was cancelled. Whether the change lasts is not known: the standby may take over. */
  | 'not replicated'
  | 'other';

/** By the `code` of the error. PostgreSQL's codes are SQLSTATEs. */
const KINDS: Readonly<Record<string, ErrorKind>> = {
  '23505': 'duplicate key', // unique_violation
  '25006': 'read only', // read_only_sql_transaction
  '25P02': 'rolled back', // in_failed_sql_transaction
  '40001': 'contention', // serialization_failure
  '40P01': 'contention', // deadlock_detected
  '42703': 'missing table', // undefined_column
  '42P01': 'missing table', // undefined_table
  '53300': 'too many connections', // too_many_connections
  '55P03': 'contention', // lock_not_available
  '57014': 'interrupted', // query_canceled

  ER_BAD_FIELD_ERROR: 'missing table',
  ER_CANT_DROP_FIELD_OR_KEY: 'already changed',
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: 'read only',
  ER_CHECKREAD: 'contention', // the row has changed since the transaction's snapshot: innodb_snapshot_isolation
  ER_CON_COUNT_ERROR: 'too many connections',
  ER_DUP_ENTRY: 'duplicate key',
  ER_DUP_FIELDNAME: 'already changed',
  ER_DUP_KEYNAME: 'already changed',
  ER_LOCK_DEADLOCK: 'contention',
  ER_LOCK_WAIT_TIMEOUT: 'contention',
  ER_NO_SUCH_TABLE: 'missing table',
  ER_OPTION_PREVENTS_STATEMENT: 'read only', // read_only; also other options that forbid a statement
  ER_QUERY_INTERRUPTED: 'interrupted',
  ER_QUERY_TIMEOUT: 'interrupted',
  ER_READ_ONLY_MODE: 'read only', // innodb_read_only
  ER_STATEMENT_TIMEOUT: 'interrupted', // max_statement_time
  ER_TOO_MANY_USER_CONNECTIONS: 'too many connections',
  ER_UNKNOWN_COM_ERROR: 'read only', // the member of a Galera cluster has lost the others, or is joining them
  ER_USER_LIMIT_REACHED: 'too many connections',

  SQLITE_CONSTRAINT_PRIMARYKEY: 'duplicate key',
  SQLITE_CONSTRAINT_UNIQUE: 'duplicate key',

  NO_ANSWER: 'no answer',
  NO_CONNECTION: 'no connection',
  NOT_REPLICATED: 'not replicated',
};

/** An error of this storage that is handled by its code, like an error of a driver. */
export class CodedError extends Error {
  readonly code: string;

  constructor(code: string, message: string) {
    super(message);
    this.code = code;
  }
}

/** The server of a connection only allows reads. */
export class ReadOnlyError extends CodedError {
  constructor() {
    // read_only_sql_transaction: the code that a statement gets when it writes there.
    super('25006', 'the server only allows reads');
  }
}

/** The `code` of a driver's error. */
export function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' ? code : '';
}

export function errorKind(error: unknown): ErrorKind {
  const code = codeOf(error);
  if (/^SQLITE_(BUSY|LOCKED)/.test(code) || isNameError(error)) return 'contention';
  if (error instanceof Error && error.name === 'KnexTimeoutError') return 'no connection';
  // SQLITE_ERROR stands for any mistake in SQL; only the message names the kind.
  const isMissing = code === 'SQLITE_ERROR' && /no such (table|column)|has no column/.test(String(error));
  return isMissing ? 'missing table' : (KINDS[code] ?? 'other');
}

/** Whether PostgreSQL does not know the name of a prepared statement on this connection, or cannot use it any more. */
export function isNameError(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === '26000' || // invalid_sql_statement_name: the name is not defined on this connection
    code === '42P05' || // duplicate_prepared_statement: the name is defined already
    // feature_not_supported: a migration has changed the type of a column
    (code === '0A000' && /cached plan/.test(String(error)))
  );
}
