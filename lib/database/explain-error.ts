import type { Milliseconds } from '../contracts/duration.ts';
import { GatehouseError, isBrokenAnswer, MigrationsPendingError, StorageError } from '../errors.ts';
import { codeOf, errorKind } from './error-kinds.ts';
import type { ErrorKind } from './error-kinds.ts';

/** Messages for the kinds of errors that the caller can do something about. Each gets the milliseconds that the call has waited. */
const MESSAGES: { readonly [Kind in ErrorKind]?: (waited: Milliseconds) => string } = {
  'no connection': (waited) =>
    `No database connection became free within ${waited} ms. Make the pool larger, or end the transactions that hold its connections.`,
  'no answer': (waited) =>
    `The database did not answer within ${waited} ms. It is not known whether anything was changed.`,
  'not replicated': () =>
    'The database committed a change without its synchronous standby, because the wait for it was cancelled. It is not known whether the change lasts.',
  contention: (waited) =>
    `The database stayed locked by another connection for ${waited} ms. Nothing was changed; try again.`,
  interrupted: (waited) =>
    `The database did not finish within ${waited} ms and was cancelled. Nothing was changed; try again.`,
  'read only': () =>
    'The database server only allows reads: it is a standby, or set to be read-only. Nothing was changed. Connect to the primary server.',
  'rolled back': () =>
    'The database rolled the transaction back, because a statement in it had failed. Nothing was changed. Let the error of the statement end the transaction, or run the statement in a nested transaction.',
  'too many connections': () =>
    'The database server has reached its connection limit. Make the pools smaller, or raise the limit.',
  'duplicate key': () => 'A row with this id already exists. Nothing was changed.',
};

/**
 * Turns an error of a driver or the pool into a `GatehouseError` with the original one as its `cause`.
 *
 * @param findPending - resolves to the pending migrations; empty also when the database cannot be asked any more
 */
export async function storageErrorOf(
  error: unknown,
  waited: Milliseconds,
  findPending: () => Promise<readonly string[]>,
): Promise<GatehouseError> {
  if (error instanceof GatehouseError) return error;
  const kind = errorKind(error);
  const pending = kind === 'missing table' ? await findPending() : [];
  if (pending.length > 0) return new MigrationsPendingError(pending);
  const message =
    MESSAGES[kind]?.(waited) ?? `The database could not be used ${named(error)}${refusedIn(error)}.`;
  return new StorageError(message, { cause: error });
}

/** The code of an error, or else its message, in parentheses, and what it means. */
export function named(error: unknown): string {
  const code = codeOf(error);
  const sqlState = /^[0-9A-Z]{5}$/.test(code) ? CLASSES[code.slice(0, 2)] : undefined;
  const words = isBrokenAnswer(error) ? BROKE : (WORDS[code] ?? sqlState);
  const name = code || (error instanceof Error ? error.message : String(error));
  return `(${name}${addressIn(error)})${words === undefined ? '' : `: ${words}`}`;
}

/** The part of the database that its user may not use, from the message, because the code does not name it. */
function refusedIn(error: unknown): string {
  if (WORDS[codeOf(error)] !== PRIVILEGE || !(error instanceof Error)) return '';
  // Knex writes the statement in front of the message of the database.
  const said = error.message.slice(error.message.lastIndexOf(' - ') + 1).replace(/^- /, '');
  return `, which says: ${said}`;
}

/** The address that an error of Node's sockets names. If the host name has several addresses, it is the address of the first attempt. */
function addressIn(error: unknown): string {
  const { address, port } = (error instanceof AggregateError ? error.errors[0] : Object(error)) as {
    readonly address?: unknown;
    readonly port?: unknown;
  };
  return typeof address === 'string' && typeof port === 'number' ? ` ${address}:${port}` : '';
}

const NO_SERVER = 'nothing answers there; start the database server, or correct the address';
const PRIVILEGE = 'its user lacks a privilege on the tables';
const READ_ONLY = 'it is read-only, as a standby is';
const LOGIN = 'it refuses the user or the password';
const NO_DATABASE = 'there is no database of this name, or its user may not use it';
const DISK_FULL = 'its disk is full';
const STOPPING = 'it is starting or shutting down';
const BROKE = 'the connection broke before the answer was complete';

/** What codes of drivers mean. PostgreSQL's codes are SQLSTATEs. */
const WORDS: Readonly<Record<string, string>> = {
  '25006': READ_ONLY,
  '28000': LOGIN,
  '28P01': LOGIN,
  '3D000': NO_DATABASE,
  '42501': PRIVILEGE,
  '53100': DISK_FULL,
  '57P01': STOPPING,
  '57P02': STOPPING,
  '57P03': STOPPING,

  ECONNREFUSED: NO_SERVER,
  ECONNRESET: BROKE,
  EHOSTUNREACH: NO_SERVER,
  ENOTFOUND: 'there is no host of this name; correct the address',
  EPIPE: BROKE,
  ER_ACCESS_DENIED_ERROR: LOGIN,
  ER_BAD_DB_ERROR: NO_DATABASE,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: READ_ONLY,
  ER_COLUMNACCESS_DENIED_ERROR: PRIVILEGE,
  ER_DBACCESS_DENIED_ERROR: NO_DATABASE,
  ER_DISK_FULL: DISK_FULL,
  ER_OPTION_PREVENTS_STATEMENT: READ_ONLY,
  // InnoDB cannot make the file of a table longer.
  ER_RECORD_FILE_FULL: DISK_FULL,
  ER_SERVER_SHUTDOWN: STOPPING,
  ER_SPECIFIC_ACCESS_DENIED_ERROR: PRIVILEGE,
  ER_TABLEACCESS_DENIED_ERROR: PRIVILEGE,
  PROTOCOL_CONNECTION_LOST: BROKE,

  SQLITE_CANTOPEN: 'the file cannot be opened; check its path and its permissions',
  SQLITE_CORRUPT: 'the file is damaged; restore a backup',
  SQLITE_FULL: DISK_FULL,
  SQLITE_NOTADB: 'the file is not an SQLite database',
  SQLITE_READONLY: 'this process may only read the file or its folder',
  SQLITE_READONLY_DBMOVED: 'the file was moved or replaced while it was open; start this process again',
  SQLITE_READONLY_DIRECTORY:
    'this process may not write in the folder of the file, where SQLite has its -wal and -shm files, also to read',
};

/** By the first two characters of an SQLSTATE. */
const CLASSES: Readonly<Record<string, string>> = {
  '08': 'the connection failed',
  '22': 'it refuses a value',
  '23': 'a constraint refuses a row',
  '25': 'the state of the transaction does not permit this',
  '28': LOGIN,
  '42': 'it refuses a statement',
  '53': 'it lacks memory, disk space or connections',
  '54': 'a limit of the server is exceeded',
  '55': 'an object is not in the required state',
  '57': 'an operator intervened',
  '58': 'a system call failed',
  XX: 'it has an internal error; see its log',
};

export function isDiskFull(error: unknown): boolean {
  return WORDS[codeOf(error)] === DISK_FULL;
}

const REFUSALS: ReadonlySet<string> = new Set([PRIVILEGE, READ_ONLY, NO_DATABASE]);

/** Whether the code says that the database permits reading only, or not even that. */
export function isRefusal(code: string): boolean {
  return code.startsWith('SQLITE_READONLY') || REFUSALS.has(WORDS[code] ?? '');
}
