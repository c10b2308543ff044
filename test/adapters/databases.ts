import test from 'ava';
import type { ExecutionContext } from 'ava';

import { createOwnDatabase } from './own-database.ts';
import type { OwnDatabase } from './own-database.ts';
import { findServer, MARIADB, mustHaveEverything, POSTGRESQL } from './servers.ts';
import type { ServerKind } from './servers.ts';
import { temporaryFile } from './temporary-file.ts';

/** One of the databases that the storage runs on. */
export interface TestDatabase {
  readonly name: 'SQLite' | 'PostgreSQL' | 'MariaDB';
  readonly client: 'better-sqlite3' | 'pg' | 'mysql2';
  /** Registers a test; where the server is missing, one that is skipped or, in CI, fails. */
  register(this: void, title: string, run: (t: ExecutionContext) => Promise<void>): void;
  /** Resolves to the address of a database with nothing in it. Call it once in each test. */
  empty(this: void): Promise<string>;
  /** The same, but where the storage has its tables already, it has tables without rows: making them takes the most time. */
  cleared(this: void): Promise<string>;
}

export const sqlite: TestDatabase = {
  name: 'SQLite',
  client: 'better-sqlite3',
  register: (title, run) => test(title, run),
  empty: async () => `sqlite:${temporaryFile()}`,
  cleared: async () => `sqlite:${temporaryFile()}`,
};

export const postgresql: TestDatabase = await onServer(POSTGRESQL);

export const mariadb: TestDatabase = await onServer(MARIADB);

/** Registers a test once for each database. */
export function onEachDatabase(
  title: string,
  run: (t: ExecutionContext, database: TestDatabase, address: string) => Promise<void>,
  databases: readonly TestDatabase[] = [sqlite, postgresql, mariadb],
): void {
  for (const database of databases) {
    database.register(`${database.name}: ${title}`, async (t) => run(t, database, await database.empty()));
  }
}

/** The same, one test at a time: for tests that set the clock, which all tests of a file share. */
export function onEachDatabaseInSeries(
  title: string,
  run: (t: ExecutionContext, database: TestDatabase, address: string) => Promise<void>,
): void {
  const inSeries: TestDatabase = { ...sqlite, register: (name, runOne) => test.serial(name, runOne) };
  onEachDatabase(title, run, [inSeries, postgresql, mariadb]);
}

/** The database of this test file on a server, made when it is first asked for. */
async function onServer(kind: ServerKind): Promise<TestDatabase> {
  const { name, client } = kind;
  const server = await findServer(kind);
  if ('remedy' in server) return missing(kind, server.remedy);
  let own: Promise<OwnDatabase> | undefined;
  return {
    name,
    client,
    register(title, run) {
      if (!own) {
        own = createOwnDatabase(kind, server.address);
        test.after.always(`drop the database on ${name}`, async () => (await own)?.drop());
      }
      // One after the other, because they share the database.
      test.serial(title, run);
    },
    async empty() {
      const database = await own!;
      await database.empty();
      return database.address;
    },
    async cleared() {
      const database = await own!;
      await database.clear();
      return database.address;
    },
  };
}

function missing({ name, client }: ServerKind, remedy: string): TestDatabase {
  let isSaid = false;
  return {
    name,
    client,
    register(title, run) {
      if (!isSaid) sayMissing(`there is no ${name}: ${remedy}`);
      isSaid = true;
      test.skip(title, run);
    },
    empty: async () => Promise.reject(new Error(remedy)),
    cleared: async () => Promise.reject(new Error(remedy)),
  };
}

/** Says what a machine lacks for some of the tests, so that nobody overlooks it. */
export function sayMissing(what: string): void {
  if (mustHaveEverything) {
    test(what, (t) => t.fail('CI is set, and then nothing may be missing'));
  } else {
    console.warn(`SKIPPED, ${what}`);
    test.skip(what, () => {});
  }
}
