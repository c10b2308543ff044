import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { relative } from 'node:path';

import test from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from './temporary-file.ts';

const file = temporaryFile();

for (const [form, address] of [
  ['sqlite: with a relative path', `sqlite:${relative('.', temporaryFile())}`],
  ['sqlite:// with an absolute path', `sqlite://${temporaryFile()}`],
  ['sqlite: with an absolute path', `sqlite:${temporaryFile('with blank.data')}`],
  ['a file name ending in .db', temporaryFile()],
  ['a file name ending in .sqlite', temporaryFile('test.sqlite')],
  ['a file name ending in .sqlite3', temporaryFile('test.sqlite3')],
] as const) {
  test(`address: ${form}`, async (t) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    t.true(existsSync(address.replace(/^sqlite:(\/\/)?/, '')));
  });
}

test('address: sqlite::memory:', async (t) => {
  const storage = knexStorage('sqlite::memory:');
  t.teardown(async () => storage.close());
  await storage.migrate();
  t.deepEqual(await storage.pendingMigrations(), []);
});

test('a file opened by the storage is in WAL mode with synchronous = normal', async (t) => {
  const settings: unknown[] = [];
  const storage = knexStorage({
    client: 'better-sqlite3',
    connection: { filename: file },
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

test('after close(), calls on a file opened by the storage reject', async (t) => {
  const storage = knexStorage(temporaryFile());
  await storage.migrate();
  await storage.close();
  await storage.close();
  await t.throwsAsync(storage.clients.find('unknown'), { code: 'ERR_STORAGE' });
});

for (const address of [
  '',
  'data',
  'mongodb://ann:geheim@host/name',
  'sqlite:',
  'postgres',
  'http://host/x.js',
]) {
  test(`address: "${address}" is an error`, (t) => {
    const error = t.throws(() => knexStorage(address), { code: 'ERR_CONFIG' });
    t.regex(error?.message ?? '', /^storage: .*use sqlite:\.\/data\.db/);
    t.notRegex(error?.message ?? '', /geheim/);
  });
}

test('address: a missing folder is an error', (t) => {
  t.throws(() => knexStorage('sqlite:/nowhere/at/all.db'), {
    code: 'ERR_CONFIG',
    message: 'storage: the folder /nowhere/at of the database file does not exist; create it',
  });
});

test('a missing driver is an error that names the package', (t) => {
  const PostgreSQL: typeof Knex.Client = createRequire(import.meta.url)('knex/lib/dialects/postgres');
  class WithoutDriver extends PostgreSQL {
    _driver(): never {
      throw new Error("Cannot find module 'pg'");
    }
  }
  const log = { error() {} };
  t.throws(() => knexStorage({ client: WithoutDriver, connection: {}, log }), {
    code: 'ERR_CONFIG',
    message: 'storage: this database needs the package pg; run `npm install pg`',
  });
});

test('an invalid timeout is an error', (t) => {
  for (const timeout of [0, -1, Number.NaN, 0.5, 5000, '11 min', '2 moons', '0.5 ms'] as never[]) {
    t.throws(() => knexStorage('data.db', { timeout }), {
      code: 'ERR_CONFIG',
      message:
        "knexStorage({ timeout }): give seconds, or a number and a unit such as '30 seconds' or '500 ms'; more than 0, at most 10 minutes",
    });
  }
});

test('an option that does not exist is refused', (t) => {
  t.throws(() => Reflect.apply(knexStorage, undefined, ['data.db', { timeOut: 5 }]), {
    code: 'ERR_CONFIG',
    message:
      'knexStorage({ timeOut }): there is no such option; did you mean timeout? The options are timeout, create, listen',
  });
});

test('an unsupported database is an error', (t) => {
  t.throws(() => knexStorage({ client: 'tedious', connection: {} }), { code: 'ERR_CONFIG' });
  const instance = knex({ client: 'oracledb' });
  t.throws(() => knexStorage(instance), {
    code: 'ERR_CONFIG',
    message: 'storage: the Knex client oracledb is not supported; use better-sqlite3, pg, mysql2',
  });
});

test('a Knex transaction instead of an instance is an error', async (t) => {
  const host = knex({
    client: 'better-sqlite3',
    connection: { filename: ':memory:' },
    useNullAsDefault: true,
  });
  t.teardown(async () => host.destroy());
  await host.transaction(async (transaction) => {
    t.throws(() => knexStorage(transaction), {
      code: 'ERR_CONFIG',
      message: 'storage: pass the Knex instance, not a transaction',
    });
  });
});

for (const nothing of [undefined, null, 5]) {
  test(`${nothing} is no database, such as a variable of the environment that is not set`, (t) => {
    t.throws(() => knexStorage(nothing as never), {
      code: 'ERR_CONFIG',
      message:
        'storage: pass your Knex instance, its configuration or the URL of a database, such as sqlite:./data.db; is the variable of the environment set?',
    });
  });
}
