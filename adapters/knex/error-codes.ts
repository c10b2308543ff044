/** The words for the codes of drivers, for messages of errors. */

const PRIVILEGE = 'its user lacks a privilege on the tables';
const READ_ONLY = 'it is read-only, as a standby is';
const LOGIN = 'it refuses the user or the password';
const NO_DATABASE = 'there is no database of this name, or its user may not use it';
const DISK_FULL = 'its disk is full';
const STOPPING = 'it is starting or shutting down';

/** PostgreSQL's codes are SQLSTATEs. */
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

  ER_ACCESS_DENIED_ERROR: LOGIN,
  ER_BAD_DB_ERROR: NO_DATABASE,
  ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION: READ_ONLY,
  ER_COLUMNACCESS_DENIED_ERROR: PRIVILEGE,
  ER_DBACCESS_DENIED_ERROR: NO_DATABASE,
  ER_DISK_FULL: DISK_FULL,
  ER_OPTION_PREVENTS_STATEMENT: READ_ONLY,
  // Of InnoDB, when it cannot make the file of a table longer.
  ER_RECORD_FILE_FULL: DISK_FULL,
  ER_SERVER_SHUTDOWN: STOPPING,
  ER_SPECIFIC_ACCESS_DENIED_ERROR: PRIVILEGE,
  ER_TABLEACCESS_DENIED_ERROR: PRIVILEGE,

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

/** What the code of a driver's error means; `undefined` for one that explains itself, such as ECONNREFUSED. */
export function wordsOf(code: string): string | undefined {
  const sqlState = /^[0-9A-Z]{5}$/.test(code) ? CLASSES[code.slice(0, 2)] : undefined;
  return WORDS[code] ?? sqlState;
}

export function isDiskFull(code: string): boolean {
  return WORDS[code] === DISK_FULL;
}

const REFUSALS: ReadonlySet<string> = new Set([PRIVILEGE, READ_ONLY, NO_DATABASE]);

/** Whether the code says that the database permits reading only, or not even that. */
export function isRefusal(code: string): boolean {
  return code.startsWith('SQLITE_READONLY') || REFUSALS.has(WORDS[code] ?? '');
}
