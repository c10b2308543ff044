import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';

import test from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { openHost } from './host-knex.ts';
import { temporaryFile } from './temporary-file.ts';

test('an SQLite file is an address in several forms', async (t) => {
  for (const address of [
    `sqlite:${relative('.', temporaryFile())}`,
    `sqlite://${temporaryFile()}`,
    `sqlite:${temporaryFile('with blank.data')}`,
    temporaryFile(),
    temporaryFile('test.sqlite'),
    temporaryFile('test.sqlite3'),
  ]) {
    const storage = knexStorage(address);
    t.true(storage.durable);
    await storage.migrate();
    await storage.close();
    t.true(existsSync(address.replace(/^sqlite:(\/\/)?/, '')), address);
    await storage.close();
    await t.throwsAsync(storage.clients.find('unknown'), { code: 'ERR_STORAGE' }, 'after close()');
  }
  const inMemory = knexStorage('sqlite::memory:');
  t.false(inMemory.durable);
  await inMemory.migrate();
  t.deepEqual(await inMemory.pendingMigrations(), []);
  await inMemory.close();
});

test('a file opened by the storage is in WAL mode with synchronous = normal', async (t) => {
  const settings: unknown[] = [];
  const storage = knexStorage({
    client: 'better-sqlite3',
    connection: { filename: temporaryFile() },
    pool: {
      afterCreate(connection: { pragma(source: string): unknown }, done: () => void) {
        settings.push(connection.pragma('journal_mode'), connection.pragma('synchronous'));
        done();
      },
    },
  });
  t.teardown(async () => storage.close());
  await storage.migrate();
  t.deepEqual(settings, [[{ journal_mode: 'wal' }], [{ synchronous: 1 }]]);
});

const PostgreSQL: typeof Knex.Client = createRequire(import.meta.url)('knex/lib/dialects/postgres');
class WithoutDriver extends PostgreSQL {
  _driver(): never {
    throw new Error("Cannot find module 'pg'");
  }
}

const FORMS =
  'use sqlite:./data.db, a file name ending in .db, postgres://user@host/name or mysql://user@host/name';
const NO_URL = `storage: this is not the URL of a database; ${FORMS}`;
const NOTHING =
  'storage: pass your Knex instance, its configuration or the URL of a database, such as sqlite:./data.db; is the variable of the environment set?';

test('what is no database, or not a supported one, is an error with the remedy', (t) => {
  for (const [database, message] of [
    ...['', 'data', 'postgres'].map((text) => [text, NO_URL] as const),
    ...['mongodb', 'http'].map(
      (kind) =>
        [
          `${kind}://ann:geheim@host/x.js`,
          `storage: there is no kind of database "${kind}:"; ${FORMS}`,
        ] as const,
    ),
    ['sqlite:', `storage: the URL has no file name; ${FORMS}`],
    ...[undefined, null, 5].map((nothing) => [nothing, NOTHING] as const),
    [
      'sqlite:/nowhere/at/all.db',
      'storage: the folder /nowhere/at of the database file does not exist; create it',
    ],
    [
      { client: WithoutDriver, connection: {}, log: { error() {} } },
      'storage: this database needs the package pg; run `npm install pg`',
    ],
    [{ client: 'tedious', connection: {} }, 'storage: Knex refuses this configuration; see the cause'],
    [
      knex({ client: 'oracledb' }),
      'storage: the Knex client oracledb is not supported; use better-sqlite3, pg, mysql2',
    ],
  ] as const)
    t.throws(() => knexStorage(database as never), { code: 'ERR_CONFIG', message });
});

test('a Knex transaction instead of an instance is an error', async (t) => {
  const host = openHost(t, 'better-sqlite3', 'sqlite::memory:');
  await host.transaction(async (transaction) => {
    t.throws(() => knexStorage(transaction), {
      code: 'ERR_CONFIG',
      message: 'storage: pass the Knex instance, not a transaction',
    });
  });
});

test('an invalid option is an error', (t) => {
  for (const timeout of [0, -1, Number.NaN, 0.5, 5000, '11 min', '2 moons', '0.5 ms'] as never[]) {
    t.throws(() => knexStorage('data.db', { timeout }), {
      code: 'ERR_CONFIG',
      message:
        "knexStorage({ timeout }): give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 10 minutes",
    });
  }
  t.throws(() => Reflect.apply(knexStorage, undefined, ['data.db', { timeOut: 5 }]), {
    code: 'ERR_CONFIG',
    message:
      'knexStorage({ timeOut }): there is no such option; did you mean timeout? The options are timeout, create, listen',
  });
});
