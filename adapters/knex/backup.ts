import { open, rename, rm, writeFile } from 'node:fs/promises';
import { existsSync } from 'node:fs';
import { dirname } from 'node:path';

import { ConfigError, StorageError } from '../../lib/errors.ts';
import { codeOf } from '../../lib/database/error-kinds.ts';
import { named } from '../../lib/database/explain-error.ts';
import { loadBetterSqlite3 } from '../drivers/load-better-sqlite3.ts';
import type { OpenSqlite } from '../drivers/load-better-sqlite3.ts';
import { filenameOf, parseUrl, requireFile } from './address.ts';

/**
 * Copies the SQLite file of an address, such as `sqlite:./data.db`, to a new file while servers use it. The copy is the state of
 * one moment, is checked, and contains the other tables of the file too. Only this user may read it (mode 0600). Writers do not
 * wait for the copy; this process does nothing else meanwhile.
 *
 * The copy is written to `file` with the ending `.partial` and renamed at the end, so that `file` is never a part of a backup.
 *
 * @param address - as for `knexStorage()`
 * @param file - the path of the copy, which must not exist; its folder must
 * @throws ConfigError for another database than an SQLite file, and for a file that exists
 * @throws StorageError when the file cannot be read or the copy cannot be written, such as for a full disk
 */
export async function backupSqlite(address: string, file: string): Promise<void> {
  const source = sqliteFileOf(address);
  const partial = `${file}.partial`;
  requireNew(file, 'give the path of a new file; a backup is never overwritten');
  const BetterSqlite3 = loadBetterSqlite3();
  await create(partial);
  try {
    const database = new BetterSqlite3(source, { fileMustExist: true });
    try {
      // All pages in one step: after a step, a change by another process would start the copy again.
      await database.backup(partial, { progress: () => Number.MAX_SAFE_INTEGER });
    } finally {
      database.close();
    }
    check(new BetterSqlite3(partial, { fileMustExist: true }));
    await flush(partial);
    requireNew(file, 'it was created while the backup ran');
    await rename(partial, file);
    await flush(dirname(file));
  } catch (error) {
    await rm(partial, { force: true });
    if (error instanceof ConfigError) throw error;
    throw new StorageError(`The backup could not be written ${named(error)}.`, { cause: error });
  }
}

const OTHER_DATABASES =
  'only an SQLite file is copied; for PostgreSQL use pg_dump, for MariaDB and MySQL mariadb-dump --single-transaction: see docs/upgrading.md';

function sqliteFileOf(address: string): string {
  const filename = filenameOf(parseUrl(address));
  if (filename === undefined || filename === ':memory:') throw new ConfigError('database', OTHER_DATABASES);
  requireFile(filename, 'correct the path');
  return filename;
}

function requireNew(file: string, remedy: string): void {
  if (existsSync(file)) throw new ConfigError('file', `${file} exists; ${remedy}`);
}

/** Creates the file before SQLite does, because SQLite would let others read it. */
async function create(file: string): Promise<void> {
  try {
    await writeFile(file, '', { flag: 'wx', mode: 0o600 });
  } catch (error) {
    if (codeOf(error) === 'EEXIST') {
      throw new ConfigError(
        'file',
        `${file} exists: another backup is running, or delete what an interrupted one has left`,
      );
    }
    throw new ConfigError('file', `${file} cannot be created (${codeOf(error)}); check the folder`, {
      cause: error,
    });
  }
}

/** Makes the copy a single file, which can be opened in a read-only folder, and looks for damaged pages. */
function check(copy: InstanceType<OpenSqlite>): void {
  try {
    copy.pragma('journal_mode = delete');
    const result = copy.pragma('quick_check(1)', { simple: true });
    if (result === 'ok') return;
    throw Object.assign(new Error(String(result)), { code: 'SQLITE_CORRUPT' });
  } finally {
    copy.close();
  }
}

/** Waits until a file or a folder is on the disk. */
async function flush(path: string): Promise<void> {
  const opened = await open(path, 'r');
  try {
    await opened.sync();
  } finally {
    await opened.close();
  }
}
