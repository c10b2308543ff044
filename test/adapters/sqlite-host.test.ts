import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aCode, aGrant, NOW } from '../storage/rows.ts';
import { temporaryFile } from './temporary-file.ts';

/** The database of an app with a table of schools and its own migrations. */
async function openHost(t: ExecutionContext): Promise<Knex> {
  const host = knex({
    client: 'better-sqlite3',
    connection: { filename: temporaryFile() },
    useNullAsDefault: true,
    migrations: {
      migrationSource: {
        getMigrations: async () => ['schools'],
        getMigrationName: (name: string) => name,
        getMigration: async () => ({
          up: async (trx: Knex) => trx.schema.createTable('schools', (table) => void table.string('name')),
          down: async () => {},
        }),
      },
    },
  });
  t.teardown(async () => host.destroy());
  await host.migrate.latest();
  return host;
}

async function schema(host: Knex): Promise<{ name: string; tbl_name: string; sql: string }[]> {
  return host.select('name', 'tbl_name', 'sql').from('sqlite_master').orderBy('name');
}

test("migrate() adds only gatehouse_ tables, beside the host's migrations, and close() leaves the host's connection open", async (t) => {
  const host = await openHost(t);
  const [before, applied] = [await schema(host), await host('knex_migrations')];
  const storage = knexStorage(host);
  await storage.migrate();

  const after = await schema(host);
  const added = after.filter(({ name }) => !before.some((one) => one.name === name));
  t.true(added.length > 9);
  t.deepEqual(
    added.filter(({ tbl_name: table }) => !table.startsWith('gatehouse_')),
    [],
  );
  t.deepEqual(
    after.filter(({ name }) => !added.some((one) => one.name === name)),
    before,
  );
  t.deepEqual(await host('knex_migrations'), applied);
  t.deepEqual(await host.migrate.list(), [[{ name: 'schools' }], []]);
  await host.migrate.rollback();
  t.deepEqual(await storage.pendingMigrations(), []);
  await storage.close();
  t.deepEqual(await host('knex_migrations'), [], 'the connection is still open');
});

test('calls of the storage do not join an open transaction of the host', async (t) => {
  const host = await openHost(t);
  const storage = knexStorage(host);
  await storage.migrate();

  const transaction = await host.transaction();
  await transaction('schools').insert({ name: 'never kept' });
  const started = storage.grants.insert(aGrant(), aCode());
  const read = storage.clients.find('unknown');
  await transaction.rollback();
  await started;

  t.is(await read, undefined);
  t.deepEqual(await host('schools'), []);
  t.deepEqual((await storage.grants.findCredential('code', aCode().id))?.credential, aCode());
});

test('concurrent calls of host and storage on one connection do not disturb each other', async (t) => {
  const host = await openHost(t);
  const storage = knexStorage(host);
  await storage.migrate();
  const numbers = Array.from({ length: 50 }, (_, index) => index);

  await Promise.all(
    numbers.flatMap((number) => [
      host('schools').insert({ name: `kept ${number}` }),
      host
        .transaction(async (transaction) => {
          await transaction('schools').insert({ name: 'never kept' });
          throw new Error('rolled back');
        })
        .catch(() => {}),
      storage.grants.insert(aGrant({ id: `${number}` }), aCode({ id: `${number}`, grantId: `${number}` })),
    ]),
  );

  t.is((await host('schools').where('name', 'like', 'kept %')).length, 50);
  t.is((await host('schools')).length, 50);
  t.is((await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW)).length, 50);
});

test("calls reject while a transaction begun by raw SQL is open on the host's connection, which keeps its busy_timeout", async (t) => {
  const host = await openHost(t);
  await host.raw('pragma busy_timeout = 1234');
  const storage = knexStorage(host, { timeout: '500 ms' });
  await storage.migrate();
  await host.raw('begin');
  await t.throwsAsync(storage.clients.find('unknown'), { code: 'ERR_STORAGE' });
  await t.throwsAsync(storage.clients.insert(aClient(), []), { code: 'ERR_STORAGE' });
  await host.raw('rollback');
  t.is(await storage.clients.find(aClient().id), undefined);
  await storage.clients.insert(aClient(), []);
  await t.throwsAsync(storage.clients.insert(aClient(), []), { code: 'ERR_STORAGE' });
  t.deepEqual(await host.raw('pragma busy_timeout'), [{ timeout: 1234 }], 'restored');
});
