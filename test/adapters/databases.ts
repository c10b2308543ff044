import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { sayMissing } from '../harness/missing.ts';
import { fileWithTables } from './file-with-tables.ts';
import { createOwnDatabase } from './own-database.ts';
import type { OwnDatabase } from './own-database.ts';
import { findServer, MARIADB, POSTGRESQL } from './servers.ts';
import type { ServerKind } from './servers.ts';
import { temporaryFile } from './temporary-file.ts';

/** One of the databases that the storage runs on. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL' | 'MariaDB';
  readonly client: 'better-sqlite3' | 'pg' | 'mysql2';
  /** Registers a test. Where there is no server, the test is skipped or, with `CI` set, fails. */
  register(this: void, title: string, run: (t: ExecutionContext) => Promise<void>): void;
  /** Resolves to the address of an empty database. Call it once in each test. */
  empty(this: void): Promise<string>;
  /** The same, but if the tables of the storage exist, they stay and only their rows are deleted, which takes less time. */
  cleared(this: void): Promise<string>;
}

/** `npm test` needs no servers, and has no tests that are skipped. */
const isWithoutServers = process.env['TEST_DATABASES'] === 'SQLite';

export const sqlite: TestDatabase = {
  name: 'SQLite',
  client: 'better-sqlite3',
  register: (title, run) => test(title, run),
  empty: async () => `sqlite:${temporaryFile()}`,
  cleared: async () => `sqlite:${await fileWithTables()}`,
};

export const postgresql: TestDatabase = onServer(POSTGRESQL);

export const mariadb: TestDatabase = onServer(MARIADB);

type Run = (t: ExecutionContext, database: TestDatabase, address: string) => Promise<void>;

/** Registers a test once for each database, in which there are no rows, and perhaps the tables of the storage. */
export function onEachDatabase(
  title: string,
  run: Run,
  databases: readonly TestDatabase[] = [sqlite, postgresql, mariadb],
): void {
  for (const database of databases) {
    database.register(`${database.name}: ${title}`, async (t) => run(t, database, await database.cleared()));
  }
}

/** The same with nothing in the database: for tests of how its tables are made. */
export function onEachEmptyDatabase(
  title: string,
  run: Run,
  databases: readonly TestDatabase[] = [sqlite, postgresql, mariadb],
): void {
  for (const database of databases) {
    database.register(`${database.name}: ${title}`, async (t) => run(t, database, await database.empty()));
  }
}

/** The same, one test at a time: for tests that set the clock, which is shared by all tests of a file. */
export function onEachDatabaseInSeries(title: string, run: Run): void {
  const inSeries: TestDatabase = { ...sqlite, register: (name, runOne) => test.serial(name, runOne) };
  onEachDatabase(title, run, [inSeries, postgresql, mariadb]);
}

/** The database of this test file on a server, created on first use. */
function onServer(kind: ServerKind): TestDatabase {
  const { name, client } = kind;
  if (isWithoutServers) return withoutServer(kind, () => {});
  const server = findServer(kind);
  if ('remedy' in server) return missing(kind, server.remedy);
  let own: Promise<OwnDatabase> | undefined;
  // By the first test: while the other files of this process are compiled, a connection has no time to be made.
  const created = async (): Promise<OwnDatabase> => (own ??= createOwnDatabase(kind, server.address));
  let isRegistered = false;
  // A test that begins with nothing may leave tables that are not those of the storage.
  let wasEmptied = false;
  return {
    name,
    client,
    register(title, run) {
      if (!isRegistered) test.after.always(`drop the database on ${name}`, async () => (await own)?.drop());
      isRegistered = true;
      // The tests share the database, so they run one after the other.
      test.serial(title, run);
    },
    async empty() {
      const database = await created();
      await database.empty();
      wasEmptied = true;
      return database.address;
    },
    async cleared() {
      const database = await created();
      await (wasEmptied ? database.empty() : database.clear());
      wasEmptied = false;
      return database.address;
    },
  };
}

function missing(kind: ServerKind, remedy: string): TestDatabase {
  let isPrinted = false;
  return withoutServer(kind, (title, run) => {
    if (!isPrinted) sayMissing(`there is no ${kind.name}: ${remedy}`);
    isPrinted = true;
    test.skip(title, run);
  });
}

function withoutServer(
  { name, client, variable }: ServerKind,
  register: TestDatabase['register'],
): TestDatabase {
  const noAddress = async (): Promise<never> => {
    throw new Error(`There is no ${name} for this test: ${variable} is not set, or not read by this command`);
  };
  return { name, client, register, empty: noAddress, cleared: noAddress };
}
