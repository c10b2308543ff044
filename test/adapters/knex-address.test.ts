import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';

import test from '../harness/test.ts';
import knex from 'knex';
import type { Knex } from 'knex';
import { laravelPassportSource } from 'koa-gatehouse';
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

const UNREADABLE =
  'this address cannot be read; in the user name and the password write # as %23, ? as %3F, / as %2F, @ as %40 and % as %25, and give one host, with a port of 1 to 65535 or none';

test('an address of which the driver would read only a part is refused before anything is opened', (t) => {
  for (const address of [
    'postgres://app:p#ss@db.invalid:6000/app',
    'postgresql://app:p?ss@db.invalid:6000/app',
    'postgres://app:p/ss@db.invalid:6000/app',
    'postgres://app:p%ss@db.invalid:6000/app',
    // For a URL, the host `app` with the port 12.
    'postgres://app:12#34@db.invalid/app',
    'postgres://app:12/34@db.invalid/app',
    'mysql://app:12?34@db.invalid/app',
    'postgres://app:pass@a.invalid:5432,b.invalid:5432/app',
    'postgres://a.invalid,b.invalid/app',
    'postgres://app:pass@db.invalid:99999/app',
    'postgres://app:pass@[::1/app',
    'postgres:app',
    'mysql://app:p#ss@db.invalid:6000/app',
    'mariadb://app:p?ss@db.invalid:6000/app',
  ]) {
    const client = address.startsWith('p') ? 'pg' : 'mysql2';
    const storage = { code: 'ERR_CONFIG', message: `storage: ${UNREADABLE}` };
    t.throws(() => knexStorage(address), storage, address);
    t.throws(() => knexStorage({ client, connection: address }), storage, address);
    t.throws(() => laravelPassportSource(address), storage, address);
    if (client === 'pg')
      t.throws(
        () => knexStorage('sqlite::memory:', { listen: address }),
        { code: 'ERR_CONFIG', message: `knexStorage({ listen }): ${UNREADABLE}` },
        address,
      );
  }
  // Knex itself takes it for the name of a file.
  const ofHost = knex({ client: 'pg', connection: 'postgres://app:p#ss@db.invalid:6000/app' });
  t.throws(() => knexStorage(ofHost), { code: 'ERR_CONFIG', message: `storage: ${UNREADABLE}` });
  t.throws(() => laravelPassportSource(ofHost), { code: 'ERR_CONFIG', message: `storage: ${UNREADABLE}` });
  for (const [address, parameter] of [
    ['postgres://app:pass@/app', 'host'],
    ['mysql://app:pass@/app', 'socketPath'],
  ] as const)
    t.throws(() => knexStorage(address), {
      code: 'ERR_CONFIG',
      message: `storage: this address has no host; give one, or a socket as ?${parameter}=/directory`,
    });
});

test('a socket is opened by an address as libpq writes it', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  let opened = 0;
  const server = createServer((connection) => {
    opened += 1;
    connection.destroy();
  });
  const encoded = encodeURIComponent(folder);
  for (const [file, addresses] of [
    [
      '.s.PGSQL.5432',
      [
        `postgres://app:p%23ss@/app?host=${folder}`,
        `postgresql://app@/app?host=${encoded}`,
        `postgres:///app?host=${folder}&user=app`,
        `postgres://app@${encoded}/app`,
      ],
    ],
    ['my.sock', [`mysql://app:pass@/app?socketPath=${folder}/my.sock`]],
  ] as const) {
    server.listen(join(folder, file));
    await once(server, 'listening');
    for (const address of addresses) {
      const before = opened;
      const storage = knexStorage(address, { timeout: '1 second' });
      await t.throwsAsync(storage.migrate(), { code: 'ERR_STORAGE' }, address);
      t.true(opened > before, address);
      await storage.close();
    }
    server.close();
    await once(server, 'close');
  }
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
      'knexStorage({ timeOut }): there is no such option; did you mean timeout? The options are timeout, createFile, listen',
  });
});
