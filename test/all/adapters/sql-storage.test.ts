import { execFile } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { promisify } from 'node:util';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import Database from 'better-sqlite3';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { sqlStorage } from 'koa-gatehouse/adapters/sql';
import mysqlCallbacks from 'mysql2';
import mysql from 'mysql2/promise';
import pg from 'pg';

import { aRequest, HOUR, NOW } from '../../storage/rows.ts';
import { mariadb, postgresql } from '../../adapters/databases.ts';
import { openHost } from '../../adapters/host-knex.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';

/** What an app has opened, and how it sends a statement in a transaction of the storage. */
interface App {
  readonly storage: Storage;
  /** Sends a statement on what the work of a transaction gets. */
  send(this: void, connection: never, sql: string): Promise<unknown>;
  /** The names of the schools, read outside of the transaction. */
  names(this: void): Promise<string[]>;
}

const INSERT = "insert into schools (name) values ('Hill')";
const ANSWER = { status: 200, body: '"done"' };

/** The answer of an idempotent request and a row of the app are stored together, or neither is. */
async function assertTransactions(t: ExecutionContext, { names, send, storage }: App): Promise<void> {
  const { idempotency } = storage;
  const again = aRequest({ attempt: 'again', leasedUntil: NOW + 40, expiresAt: NOW + HOUR });
  await idempotency.begin(aRequest(), NOW);
  const failure = new Error('rolled back');
  const failing = storage.transaction(async (connection) => {
    await send(connection as never, INSERT);
    t.true(await idempotency.finish(aRequest(), ANSWER, connection));
    throw failure;
  });
  t.is(await t.throwsAsync(failing), failure);
  t.deepEqual(await names(), []);
  t.is((await idempotency.begin(again, NOW))?.answer, undefined);

  let given: unknown;
  const result = await storage.transaction(async (connection) => {
    given = connection;
    await send(connection as never, INSERT);
    return idempotency.finish(aRequest(), ANSWER, connection);
  });
  t.true(result);
  t.deepEqual(await names(), ['Hill']);
  t.deepEqual((await idempotency.begin(again, NOW))?.answer, ANSWER);
  await t.throwsAsync(idempotency.finish(aRequest(), ANSWER, given), {
    code: 'ERR_STORAGE',
    message: 'This is not a transaction of the storage, or it has ended.',
  });
}

/** A transaction that the work itself has ended takes no answer, which would last whatever becomes of the rest. */
async function assertEnded(t: ExecutionContext, { send, storage }: App): Promise<void> {
  const ended = storage.transaction(async (connection) => {
    await send(connection as never, 'rollback');
    await storage.idempotency.finish(aRequest(), ANSWER, connection);
  });
  await t.throwsAsync(ended, { code: 'ERR_STORAGE', message: /it has ended/ });
  // The connection can be used by the next one.
  t.is(await storage.transaction(async () => 'done'), 'done');
}

test('better-sqlite3: the work of a transaction gets the database, and the answer of a request is stored with its changes', async (t) => {
  const filename = temporaryFile();
  const [file, other] = [new Database(filename), new Database(filename)];
  file.pragma('journal_mode = wal');
  const storage = sqlStorage(file);
  await storage.migrate();
  other.exec('create table schools (name text)');
  const app: App = {
    storage,
    send: async (connection: Database.Database, sql) => connection.exec(sql),
    names: async () =>
      other
        .prepare<[], { name: string }>('select name from schools')
        .all()
        .map(({ name }) => name),
  };
  await assertTransactions(t, app);
  await assertEnded(t, app);
  await storage.close();
  t.true(file.open, 'it is the app that closes it');
});

test('node:sqlite: the work of a transaction gets the database, and the answer of a request is stored with its changes', async (t) => {
  const filename = temporaryFile();
  const [file, other] = [new DatabaseSync(filename), new DatabaseSync(filename)];
  file.exec('pragma journal_mode = wal');
  const storage = sqlStorage(file);
  await storage.migrate();
  other.exec('create table schools (name text)');
  const app: App = {
    storage,
    send: async (connection: DatabaseSync, sql) => connection.exec(sql),
    names: async () =>
      other
        .prepare('select name from schools')
        .all()
        .map(({ name }) => String(name)),
  };
  await assertTransactions(t, app);
  await assertEnded(t, app);
  await storage.close();
  t.true(file.isOpen, 'it is the app that closes it');
});

test('in memory: the work of a transaction gets the database, which is rolled back', async (t) => {
  const storage = memoryStorage();
  const setUp = async (sql: string) =>
    storage.transaction(async (connection) => (connection as Database.Database).exec(sql));
  await setUp('create table schools (name text)');
  let database: Database.Database | undefined;
  await storage.transaction(async (connection) => (database = connection as Database.Database));
  await assertTransactions(t, {
    storage,
    send: async (connection: Database.Database, sql) => connection.exec(sql),
    names: async () =>
      database!
        .prepare<[], { name: string }>('select name from schools')
        .all()
        .map(({ name }) => name),
  });
});

postgresql.register(
  'pg: the work of a transaction gets a client, and the answer of a request is stored with its changes',
  async (t) => {
    const pool = new pg.Pool({ connectionString: await postgresql.empty() });
    const storage = sqlStorage(pool);
    t.teardown(async () => pool.end());
    await storage.migrate();
    await pool.query('create table schools (name text)');
    const app: App = {
      storage,
      send: async (client: pg.PoolClient, sql) => client.query(sql),
      names: async () =>
        (await pool.query<{ name: string }>('select name from schools')).rows.map(({ name }) => name),
    };
    await assertTransactions(t, app);
    await assertEnded(t, app);

    const caught = storage.transaction(async (client) => {
      await (client as pg.PoolClient).query('delete from schools');
      await (client as pg.PoolClient).query('not SQL').catch(() => {});
    });
    await t.throwsAsync(caught, { code: 'ERR_STORAGE', message: /because a statement in it had failed/ });
    t.deepEqual(await app.names(), ['Hill'], 'nothing was changed');
    await storage.close();
    t.deepEqual(await app.names(), ['Hill'], 'the pool stays open');
  },
);

mariadb.register(
  'mysql2: the work of a transaction gets a connection, and the answer of a request is stored with its changes',
  async (t) => {
    const pool = mysql.createPool(await mariadb.empty());
    const storage = sqlStorage(pool);
    t.teardown(async () => pool.end());
    await storage.migrate();
    await pool.query('create table schools (name text)');
    const names = async (): Promise<string[]> => {
      const [rows] =
        await pool.query<(mysql.RowDataPacket & { readonly name: string })[]>('select name from schools');
      return rows.map(({ name }) => name);
    };
    await assertTransactions(t, {
      storage,
      names,
      send: async (connection: mysqlCallbacks.PoolConnection, sql) => connection.promise().query(sql),
    });
    await storage.close();
    t.deepEqual(await names(), ['Hill'], 'the pool stays open');
  },
);

postgresql.register(
  'pg: a server that ends the connections of a pool ends neither the process nor the storage',
  async (t) => {
    const address = await postgresql.cleared();
    const admin = openHost(t, 'pg', address);
    const pool = new pg.Pool({ connectionString: address, application_name: 'to be ended' });
    // As every app with a pool has to.
    pool.on('error', () => {});
    const storage = sqlStorage(pool);
    t.teardown(async () => pool.end());
    await storage.migrate();
    const changes: unknown[] = [];
    await storage.changes?.subscribe((received) => changes.push(received));
    const working = storage.transaction(async (client) =>
      (client as pg.PoolClient).query('select pg_sleep(60)'),
    );
    const sleeping = `from pg_stat_activity where application_name = 'to be ended'`;
    for (let isSleeping = false; !isSleeping;) {
      const { rows } = await admin.raw(
        `select 1 ${sleeping} and query like '%pg_sleep%' and state = 'active'`,
      );
      isSleeping = rows.length > 0;
    }
    await admin.raw(`select pg_terminate_backend(pid) ${sleeping}`);
    await t.throwsAsync(working, { code: '57P01' });
    t.is(await storage.clients.find('unknown'), undefined);
    await storage.close();
  },
);

test('what is not a pool or a connection is an error with the remedy', (t) => {
  for (const [given, message] of [
    [undefined, /^storage: pass a pool of pg or mysql2, an open database of better-sqlite3 or node:sqlite/],
    ['postgres://localhost/app', /an address is for knexStorage\(\)/],
    [new pg.Client(), /^storage: pass a pool of pg/],
    [{ connect() {} }, /^storage: pass a pool of pg/],
    [
      Object.assign(() => {}, { client: {}, raw() {} }),
      /this is a Knex instance; pass it to knexStorage\(\)/,
    ],
  ] as const)
    t.throws(() => sqlStorage(given as never), { code: 'ERR_CONFIG', message });
});

test('memoryStorage() needs no package: without better-sqlite3 it is that of Node', async (t) => {
  const script = `
    import Module from 'node:module';
    const resolve = Module._resolveFilename;
    Module._resolveFilename = (name, ...rest) => {
      if (/^(better-sqlite3|knex)$/.test(name)) throw Object.assign(new Error(name), { code: 'MODULE_NOT_FOUND' });
      return resolve(name, ...rest);
    };
    const { memoryStorage } = await import('koa-gatehouse/adapters/memory');
    const storage = memoryStorage();
    const key = { id: 'a', use: 'token', generation: 1, material: '{}', createdAt: 1, activeAt: 1 };
    console.log(await storage.keys.insert(key), await storage.keys.insert(key));
    await storage.transaction(async (database) => console.log(database.constructor.name));
    console.log(storage.durable, await storage.pendingMigrations());`;
  const { stdout } = await promisify(execFile)(
    process.execPath,
    ['--conditions=gatehouse:source', '--input-type=module', '--eval', script],
    { cwd: import.meta.dirname },
  );
  t.is(stdout, 'true false\nDatabaseSync\nfalse []\n');
});
