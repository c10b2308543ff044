import { once } from 'node:events';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { ConfigError, createAuthServer } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { MIGRATIONS, migrationsOf } from '../../../lib/database/migrations.ts';
import { aClient, aCode, aGrant, aSession, NOW } from '../../storage/rows.ts';
import { sqliteDialect } from '../../../lib/database/dialects/sqlite.ts';
import { mariadb, onEachEmptyDatabase, postgresql } from '../../adapters/databases.ts';
import { openHost, openNodes } from '../../adapters/host-knex.ts';
import { migrateWith, SECOND } from '../../adapters/made-up-migration.ts';
import { start } from '../../adapters/processes.ts';
import { watchedKnex } from '../../adapters/watched-knex.ts';

const NAMES = MIGRATIONS.map(({ name }) => name);
const users = { verifyPassword: async () => undefined, find: async () => undefined };

/** Stores a client, a grant and a session with the tables of the first migration. */
async function fill(host: Knex): Promise<void> {
  const storage = knexStorage(host);
  await storage.migrate();
  await storage.clients.insert(aClient(), []);
  await storage.grants.insert(aGrant(), aCode());
  await storage.sessions.insert(aSession());
}

/** The rows that were there are complete, the second migration has changed them, and was applied once. */
async function assertMigrated(t: ExecutionContext, host: Knex): Promise<void> {
  const { clients, grants, sessions, ...storage } = knexStorage(host);
  t.deepEqual(await storage.pendingMigrations(), []);
  t.deepEqual(
    await host('gatehouse_migrations').pluck('name').orderBy('name'),
    [...NAMES, SECOND.name].toSorted(),
  );
  t.deepEqual((await clients.find(aClient().id))?.client, aClient());
  t.deepEqual((await grants.findCredential('code', aCode().id))?.credential, aCode());
  t.deepEqual((await sessions.find(aSession().id))?.session, aSession());
  t.deepEqual(await host('gatehouse_clients').pluck('nickname'), ['known as Timetable']);
  t.deepEqual(await host('gatehouse_nicknames'), []);
}

onEachEmptyDatabase(
  'the migrations make the tables, and nothing works before',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    const { audit, consents, sessions, revocations, ...storage } = knexStorage(host);
    t.deepEqual(await storage.pendingMigrations(), NAMES);
    for (const call of [
      audit.list({}),
      consents.list('ann'),
      storage.diagnose(),
      sessions.find(aSession().id),
      revocations.latestSequence(),
    ])
      await t.throwsAsync(call, { code: 'ERR_MIGRATIONS_PENDING' });
    for (let time = 0; time < 2; time += 1) {
      await storage.migrate();
      t.deepEqual(await storage.pendingMigrations(), []);
      t.deepEqual(await host('gatehouse_migrations').pluck('name').orderBy('name'), NAMES);
      t.is(await revocations.latestSequence(), 1);
    }
  },
);

test('a table that came later has a migration of its own, after the first one', (t) => {
  const table = {
    name: 'gatehouse_made_up',
    columns: { id: 'id' },
    expires: undefined,
    user: undefined,
  } as const;
  const later = [
    { ...table, since: '0003_third' },
    { ...table, since: '0002_second' },
  ];
  const [first, ...others] = migrationsOf([table, ...later]);
  t.deepEqual(
    [first, ...others].map((migration) => migration!.name),
    ['0001_tables', '0002_second', '0003_third'],
  );
  t.is(first!.up(sqliteDialect()).filter((sql) => sql.includes('gatehouse_made_up')).length, 1);
});

onEachEmptyDatabase(
  'a database of a version that was never released is not opened',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    const storage = knexStorage(host);
    await storage.migrate();
    await host('gatehouse_migrations').insert({ name: '0001_first_tables', applied_at: NOW });
    const error = {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message:
        'storage: the tables of this database were made by a version from before 0.1.0, which was never released, and cannot be upgraded; drop the tables whose names begin with gatehouse_, or use another database, and run `npx gatehouse migrate`',
    };
    await t.throwsAsync(storage.migrate(), error);
    await t.throwsAsync(storage.pendingMigrations(), error);
    for (const migrate of [true, false]) {
      const options = { issuer: 'https://platform.example', users, migrate };
      await t.throwsAsync(createAuthServer({ ...options, storage }), error);
    }
  },
);

onEachEmptyDatabase('a further migration keeps the rows', async (t, { client }, address) => {
  const host = openHost(t, client, address);
  await fill(host);
  await migrateWith(host);
  await assertMigrated(t, host);
});

onEachEmptyDatabase(
  'a migration whose columns were added before it failed can be run again',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    await fill(host);
    await migrateWith(host);
    await host('gatehouse_migrations').where('name', SECOND.name).delete();
    await migrateWith(host);
    await assertMigrated(t, host);
  },
  // SQLite rolls back a failed migration.
  [postgresql, mariadb],
);

onEachEmptyDatabase(
  'when nodes migrate at once, each migration is applied once',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    const nodes = openNodes(t, 4, address);
    await Promise.all(nodes.map(async (node) => node.migrate()));
    await fill(host);
    const hosts = Array.from({ length: 4 }, () => openHost(t, client, address));
    await Promise.all(hosts.map(async (node) => migrateWith(node)));
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'a node of the version before works on migrated tables',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    await fill(host);
    await migrateWith(host);
    const before = knexStorage(host);
    t.deepEqual(await before.pendingMigrations(), []);
    const later = aClient({ id: 'later' });
    await before.clients.insert(later, []);
    t.deepEqual((await before.clients.find('later'))?.client, later);
    await before.revocations.revokeAllOf({ userId: aSession().userId });
    t.is(await before.sessions.find(aSession().id), undefined);
  },
);

onEachEmptyDatabase(
  'a migration that fails before any of its statements is completed by the next one',
  async (t, database, address) => {
    const host = openHost(t, database.client, address);
    const step = database === mariadb ? 1 : 9;
    let stops = 0;
    for (let last = 1; last < 120; last += step) {
      let count = 0;
      let isBroken = true;
      const stopping = watchedKnex(database.client, address, (sql) => {
        if (/gatehouse/.test(sql) && !sql.startsWith('select name from')) count += 1;
        if (isBroken && count >= last) throw new Error('the connection is lost');
      });
      const stopped = await knexStorage(stopping)
        .migrate()
        .then(
          () => false,
          () => true,
        );
      isBroken = false;
      await stopping.destroy();
      if (!stopped) break;
      stops += 1;
    }
    // Each failed later than the one before, until one completed.
    t.true(stops > 5, `${stops}`);
    await fill(host);
    await migrateWith(host);
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'after a process was killed in a migration, the next one completes it',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    await fill(host);
    const child = start('migrating-process.ts', client, address, 'update gatehouse_clients');
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await migrateWith(host);
    await assertMigrated(t, host);
  },
);
