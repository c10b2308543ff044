// Alone, first: each migration fails at each of its statements, on each database.
import { once } from 'node:events';

import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { migrations } from '../../adapters/knex/migrations/index.ts';
import type { Storage, TokenInQuestion } from '../../lib/contracts/index.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aRecord,
  aRequest,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from '../../lib/testing/storage/rows.ts';
import { like } from '../harness/like.ts';
import { mariadb, onEachEmptyDatabase, postgresql, sqlite } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { openHost, openNodes } from './host-knex.ts';
import { makeFirstVersion } from './first-version.ts';
import { start } from './processes.ts';
import { watchedKnex } from './watched-knex.ts';

const CLIENT_NAMES = '0016_client_names';
const CLIENT_LIFETIMES = '0007_client_lifetimes';
const REGISTRATION_CLAIMS = '0014_registration_claims';
const [FIRST, ...LATER] = migrations.map(({ name }) => name);

/** A host's Knex instance on a database of the first version. */
async function onFirstVersion(t: ExecutionContext, database: TestDatabase, address: string): Promise<Knex> {
  const { client } = database;
  const host = openHost(t, client, address);
  await makeFirstVersion(host, database);
  return host;
}

/** The old rows are complete, and each store works. */
async function assertMigrated(t: ExecutionContext, host: Knex): Promise<void> {
  const { assignments, attempts, audit, clients, consents, grants, idempotency, ...storage } =
    knexStorage(host);
  t.deepEqual(await storage.pendingMigrations(), []);
  t.deepEqual(await host('gatehouse_migrations').pluck('name').orderBy('name'), [FIRST, ...LATER]);
  t.deepEqual(await clients.find(aClient().id), {
    client: aClient(),
    secrets: [aSecret()],
    sequence: 0,
  });
  t.deepEqual(await clients.list({ search: 'timeta' }), [aClient()]);
  t.deepEqual(await consents.list('ann'), [aConsent({ hosts: {} })]);
  const { credential, grant } = (await grants.findCredential('code', aCode().id))!;
  t.deepEqual(
    { credential, grant },
    { credential: aCode(), grant: aGrant({ sequence: 0, origin: undefined }) },
  );
  await grants.touch(grant.id, NOW + 5);
  const inUse = await grants.list(aGrant().userId, { now: NOW, limit: 1 });
  t.deepEqual(inUse, [{ ...grant, lastUsedAt: NOW + 5 }]);

  await consents.touch('ann', 'timetable', NOW + 5);
  t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ hosts: {}, lastUsedAt: NOW + 5 }));
  await consents.add(aConsent());
  t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
  await audit.append([aRecord({ id: 'a' })], NOW + HOUR);
  t.deepEqual(await audit.list({}), [aRecord({ id: 'a' })]);
  t.is(await idempotency.begin(aRequest(), NOW), undefined);
  const counted = await attempts.count([{ id: 'a', limit: 1 }], { now: NOW, expiresAt: NOW + HOUR });
  t.is(counted.full, undefined);
  t.true(await clients.redeemAssertion('a', NOW + HOUR));
  await assignments.save('ann', { roles: ['registrar'], permissions: [] });
  t.deepEqual((await assignments.find('ann')).roles, ['registrar']);
  await assertRevocationsKept(t, storage);
}

/** Revoked tokens stay revoked, and others are revoked when their user or client is ended. */
async function assertRevocationsKept(
  t: ExecutionContext,
  { prune, revocations, sessions }: Pick<Storage, 'prune' | 'revocations' | 'sessions'>,
): Promise<void> {
  const ofApp: TokenInQuestion = { id: 'jti-2', clientId: 'timetable', grant: undefined, sequence: 0 };
  const ofAnn: TokenInQuestion = { ...ofApp, grant: { id: aGrant().id, userId: 'ann' } };
  const ofRevoked: TokenInQuestion = { ...ofApp, clientId: 'revoked' };
  const good = [ofApp, ofAnn, { ...ofRevoked, sequence: 1 }];
  const revoked = [
    ofRevoked,
    { ...ofRevoked, grant: { id: 'grant-2', userId: 'ann' } },
    { ...ofApp, id: 'jti-1' },
    { ...ofAnn, id: 'jti-1' },
  ];
  const stand = async (tokens: readonly TokenInQuestion[]): Promise<boolean[]> =>
    Promise.all(tokens.map(async (token) => revocations.isValid(token)));
  t.is(await revocations.latestSequence(), 1);
  t.deepEqual(await stand(good), [true, true, true]);
  t.deepEqual(await stand(revoked), [false, false, false, false]);
  const session = { ...aSession(), sequence: 0 };
  t.deepEqual(await sessions.find(session.id), { session, sequence: 1, consent: undefined });
  t.is(await sessions.find('anonymous'), undefined);

  await revocations.revokeAllOf({ userId: 'ann' });
  const latest = await revocations.latestSequence();
  t.true(latest > 1);
  t.is(await sessions.find(session.id), undefined);
  t.deepEqual(await stand(good), [true, false, true]);
  while ((await prune(NOW * 2, 100)) > 0);
  t.is(await revocations.latestSequence(), latest);
  t.deepEqual(await stand([...good, ofRevoked]), [true, false, true, false], 'ends are never pruned');
}

onEachEmptyDatabase(
  'migrating a database of the first version keeps its rows',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const { audit, consents, sessions, revocations, ...storage } = knexStorage(host);
    t.deepEqual(await storage.pendingMigrations(), LATER);
    for (const call of [
      audit.list({}),
      consents.list('ann'),
      storage.diagnose(),
      sessions.find(aSession().id),
      revocations.latestSequence(),
    ])
      await t.throwsAsync(call, { code: 'ERR_MIGRATIONS_PENDING' });
    await storage.migrate();
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'a migration whose columns were added before it failed can be run again',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    await storage.migrate();
    const record = {
      id: 'old',
      at: NOW * 1000,
      type: 'secret_removed',
      client_id: 'timetable',
      payload: '{}',
    };
    await host('gatehouse_audit').insert({ ...record, expires_at: NOW + HOUR });
    await host('gatehouse_migrations').where('name', '>=', CLIENT_LIFETIMES).delete();
    await storage.migrate();
    like(t, await storage.audit.list({ types: ['secret_deleted'] }), [{ id: 'old', clientId: 'timetable' }]);
    await host('gatehouse_audit').delete();
    await assertMigrated(t, host);
  },
  // SQLite rolls back a failed migration. So does PostgreSQL, but CockroachDB, which gets its statements, does not.
  [postgresql, mariadb],
);

onEachEmptyDatabase(
  'changing what was read of a row of an earlier version does not change what is read of others',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const { clients, consents, ...storage } = knexStorage(host);
    await storage.migrate();
    for (const id of ['a', 'b']) {
      await clients.insert(aClient({ id, ownerId: 'owner' }), []);
      await consents.add(aConsent({ userId: 'eve', clientId: id }));
    }
    // As an earlier version stores them.
    await host('gatehouse_clients').update({ lifetimes: null, registration: null });
    await host('gatehouse_consents').update({ hosts: null });
    for (const { lifetimes } of await clients.list({ ownerId: 'owner' }))
      t.true(Reflect.set(lifetimes, 'accessToken', 1));
    for (const { hosts } of await consents.list('eve')) t.true(Reflect.set(hosts, 'device:', []));
    for (const id of ['a', 'b']) {
      const { lifetimes, registration } = (await clients.find(id))!.client;
      t.deepEqual({ lifetimes, registration }, { lifetimes: {}, registration: 'manual' });
      t.deepEqual((await consents.find('eve', id))?.hosts, {});
    }
  },
  [sqlite],
);

onEachEmptyDatabase(
  'when nodes migrate the first version at once, each migration is applied once',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const nodes = openNodes(t, 4, address);
    await Promise.all(nodes.map(async (node) => node.migrate()));
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'a node of the first version works beside one that has migrated',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    const { clients, consents, grants, revocations, sessions } = storage;
    await storage.migrate();
    const later = { user_id: 'bob', client_id: 'timetable', scopes: '[]', created_at: NOW, updated_at: NOW };
    await host('gatehouse_consents').insert(later);
    await host('gatehouse_clients').update({ disabled: 1 });
    await host('gatehouse_interactions').insert({ id: 'later', payload: '{}', expires_at: NOW });
    const session = { id: 'later', uid: 'later', user_id: 'bob', payload: '{}', expires_at: NOW };
    await host('gatehouse_sessions').insert(session);
    const { updated_at: _, ...grant } = { ...later, id: 'later', expires_at: NOW, needed_until: NOW };
    await host('gatehouse_grants').insert([grant, { ...grant, id: 'limited to none', scopes: '[" "]' }]);
    t.is((await grants.find('later'))?.scopes, undefined, 'not limited');
    t.deepEqual((await grants.find('limited to none'))?.scopes, []);
    for (const [id, scopes, written] of [
      ['new', undefined, '[]'],
      ['new, limited to none', [], '[" "]'],
    ] as const) {
      await grants.insert(aGrant({ id, scopes }), aCode({ id, grantId: id }));
      t.deepEqual(
        await host('gatehouse_grants').where({ id }).pluck('scopes'),
        [written],
        'as it reads them',
      );
    }
    t.is((await sessions.find('later'))?.session.userId, 'bob');
    const token = { id: 'a', clientId: 'timetable', grant: { id: 'later', userId: 'bob' }, sequence: 0 };
    t.true(await revocations.isValid(token));
    await revocations.revokeAllOf({ userId: 'bob' });
    t.is(await sessions.find('later'), undefined);
    t.false(await revocations.isValid(token));
    while ((await storage.prune(NOW * 2, 100)) > 0);
    t.deepEqual(await host('gatehouse_interactions'), []);
    t.deepEqual(await consents.find('bob', 'timetable'), aConsent({ userId: 'bob', scopes: [], hosts: {} }));
    t.deepEqual((await clients.find(aClient().id))?.client, aClient({ disabled: true }));

    const verified = aClient({
      id: 'a',
      verified: true,
      logo: 'hash',
      clientUri: 'https://timetable.example',
    });
    await clients.insert(verified, []);
    t.deepEqual((await clients.find('a'))?.client, verified);
    const renamed = { name: 'Bank', updated_at: NOW + 1 };
    await host('gatehouse_clients').where({ id: 'a' }).update(renamed);
    t.like((await clients.find('a'))?.client, { name: 'Bank', verified: false }, 'nobody has verified this');
  },
);

onEachEmptyDatabase(
  'apps that a node of the first version registers or renames are found when migrate() is called again',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    await storage.migrate();
    const at = Math.floor(Date.now() / 1000);
    const renamed = { name: 'Old Reports', sort_name: 'old reports', owner_id: 'ann', updated_at: at };
    await host('gatehouse_clients').update(renamed);
    const [row] = await host('gatehouse_clients').where('id', aClient().id);
    await host('gatehouse_clients').insert({ ...row, id: 'second', updated_at: at });
    const found = async (search: string): Promise<string[]> =>
      (await storage.clients.list({ search, ownerId: 'ann' })).map(({ id }) => id);
    t.is((await storage.clients.list({})).length, 2);
    for (let time = 0; time < 2; time += 1) {
      await storage.migrate();
      t.deepEqual(await found('timeta'), []);
      t.deepEqual(await found('reports'), [aClient().id, 'second']);
    }
  },
);

onEachEmptyDatabase(
  'two nodes fill the names of apps at once, while apps are renamed and deleted',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    await storage.migrate();
    const ids = Array.from({ length: 450 }, (_, index) => `app-${String(index).padStart(3, '0')}`);
    const [row] = await host('gatehouse_clients').where('id', aClient().id);
    const rows = ids.map((id) => ({ ...row, id, name: `First ${id}`, sort_name: `first ${id}` }));
    await host.batchInsert('gatehouse_clients', rows, 100);
    await host('gatehouse_migrations').where('name', CLIENT_NAMES).delete();
    const changes: Promise<unknown>[] = [];
    // Between the statement that reads the names of the first apps and the one that writes their words.
    const filling = watchedKnex(database.client, address, (sql) => {
      if (changes.length > 0 || !/insert into gatehouse_client_names/.test(sql)) return;
      changes.push(storage.migrate());
      for (const id of ids.slice(0, 50)) changes.push(storage.clients.delete(id));
      for (const id of ids.slice(50, 100))
        changes.push(storage.clients.update(aClient({ id, name: `Second ${id}` })));
    });
    t.teardown(async () => filling.destroy());
    await knexStorage(filling).migrate();
    t.is((await Promise.all(changes)).filter(Boolean).length, 100);
    const count = async (search: string): Promise<number> =>
      (await storage.clients.list({ search, limit: 500 })).length;
    t.deepEqual(await Promise.all(['first', 'second', 'app'].map(count)), [350, 50, 400]);
    const names = await host('gatehouse_client_names').distinct('client_id');
    t.is(names.length, 401);
  },
);

onEachEmptyDatabase(
  'a migration that fails before any of its statements is completed by the next one',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    let stops = 0;
    // The others roll back what a failed migration has done.
    const step = database === mariadb ? 1 : 9;
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
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'after a process was killed in a migration, the next one completes it',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const child = start('migrating-process.ts', database.client, address, 'update gatehouse_revocations');
    await once(child, 'message');
    child.kill('SIGKILL');
    await once(child, 'exit');
    await knexStorage(host).migrate();
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'registrations of the earlier version keep the claims that their consents gave them',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    const storage = knexStorage(host);
    const { clients, consents, registrations } = storage;
    await storage.migrate();
    const register = async (id: string): ReturnType<typeof registrations.insert> =>
      registrations.insert(
        {
          client: aClient({ id, registration: 'dynamic' }),
          secrets: [],
          registration: {
            clientId: id,
            tokenHash: id,
            authMethod: 'none',
            removableAt: NOW + HOUR,
            unusedAfter: HOUR,
            network: 'n',
          },
        },
        { limit: 3, perUser: 5, unusedSince: NOW + HOUR, now: NOW },
      );
    for (const id of ['nobody', 'one', 'several']) await register(id);
    // Without the basis, as a version without claims.
    for (const [clientId, userId] of [
      ['one', 'ann'],
      ['several', 'ann'],
      ['several', 'bob'],
    ] as const)
      await consents.add(aConsent({ clientId, userId }));
    for (const column of ['network', 'user_id'])
      await host.raw(`alter table gatehouse_registrations drop column ${column}`);
    await host('gatehouse_migrations').where({ name: REGISTRATION_CLAIMS }).delete();
    await storage.migrate();
    for (const id of ['a', 'b']) {
      t.is((await register(id))?.length, 1);
      await registrations.addConsent(aConsent({ clientId: id, userId: 'cy', updatedAt: NOW + 2 * HOUR }));
    }
    const left = (await clients.list({ limit: 9 })).map(({ id }) => id);
    t.deepEqual(left.toSorted(), ['a', 'b', 'several']);
    t.is(await register('c'), undefined);
  },
);
