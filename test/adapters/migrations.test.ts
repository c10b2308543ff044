import { once } from 'node:events';

import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

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
import { mariadb, onEachEmptyDatabase, postgresql } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { makeFirstVersion } from './first-version.ts';
import { start, startCluster } from './processes.ts';
import { watchedKnex } from './watched-knex.ts';

const FIRST = '0001_first_tables';
const CLIENT_LIFETIMES = '0007_client_lifetimes';
const LATER = [
  '0002_audit_assignments_idempotency',
  '0003_attempts',
  '0004_disabled_by',
  '0005_revocation_sequence',
  '0006_consent_hosts',
  CLIENT_LIFETIMES,
  '0008_row_locks',
  '0009_client_registration',
  '0010_assertions',
  '0012_dynamic_registration',
  '0013_device_codes',
];

const cluster = startCluster(4);

/** A host's Knex instance on a database of the first version. */
async function onFirstVersion(t: ExecutionContext, database: TestDatabase, address: string): Promise<Knex> {
  const { client } = database;
  const connection = client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address;
  const host = knex({ client, connection, useNullAsDefault: true, log: { warn() {} } });
  t.teardown(async () => host.destroy());
  await makeFirstVersion(host, database);
  return host;
}

/** The old rows are complete, and each store works. */
async function assertMigrated(t: ExecutionContext, host: Knex): Promise<void> {
  const {
    assertions,
    assignments,
    attempts,
    audit,
    clients,
    consents,
    credentials,
    idempotency,
    ...storage
  } = knexStorage(host);
  t.deepEqual(await storage.pendingMigrations(), []);
  t.deepEqual(await host('gatehouse_migrations').pluck('name').orderBy('name'), [FIRST, ...LATER]);
  t.deepEqual(await clients.find(aClient().id), {
    client: aClient(),
    secrets: [aSecret()],
    sequence: 0,
  });
  t.deepEqual(await consents.list('ann'), [aConsent({ hosts: {} })]);
  t.deepEqual(await credentials.find('code', aCode().id), {
    credential: aCode(),
    grant: aGrant({ sequence: 0 }),
  });

  await consents.touch('ann', 'timetable', NOW + 5);
  t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ hosts: {}, lastUsedAt: NOW + 5 }));
  await consents.add(aConsent());
  t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
  await audit.append([aRecord({ id: 'a' })], NOW + HOUR);
  t.deepEqual(await audit.list({}), [aRecord({ id: 'a' })]);
  t.is(await idempotency.begin(aRequest(), NOW), undefined);
  t.is(await attempts.count('a', { limit: 1, now: NOW, expiresAt: NOW + HOUR }), undefined);
  t.true(await assertions.spend('a', NOW + HOUR));
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
    Promise.all(tokens.map(async (token) => revocations.stands(token)));
  t.is(await revocations.sequence(), 1);
  t.deepEqual(await stand(good), [true, true, true]);
  t.deepEqual(await stand(revoked), [false, false, false, false]);
  const session = { ...aSession(), sequence: 0 };
  t.deepEqual(await sessions.find(session.id), { session, sequence: 1 });
  t.is(await sessions.find('anonymous'), undefined);

  await revocations.end({ userId: 'ann' });
  const latest = await revocations.sequence();
  t.true(latest > 1);
  t.is(await sessions.find(session.id), undefined);
  t.deepEqual(await stand(good), [true, false, true]);
  while ((await prune(NOW * 2, 100)) > 0);
  t.is(await revocations.sequence(), latest);
  t.deepEqual(await stand([...good, ofRevoked]), [true, false, true, false], 'ends are never pruned');
}

onEachEmptyDatabase(
  'migrating a database of the first version keeps its rows',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    t.deepEqual(await storage.pendingMigrations(), LATER);
    await t.throwsAsync(storage.audit.list({}), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.consents.list('ann'), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.diagnose(), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.sessions.find(aSession().id), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.revocations.sequence(), { code: 'ERR_MIGRATIONS_PENDING' });
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
    await host('gatehouse_migrations').where('name', '>=', CLIENT_LIFETIMES).delete();
    await storage.migrate();
    await assertMigrated(t, host);
  },
  // SQLite rolls back a failed migration. So does PostgreSQL, but CockroachDB, which gets its statements, does not.
  [postgresql, mariadb],
);

onEachEmptyDatabase(
  'old audit records of type secret_removed are listed as secret_deleted',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const storage = knexStorage(host);
    await storage.migrate();
    const record = { id: 'a', at: NOW * 1000, type: 'secret_removed', client_id: 'timetable', payload: '{}' };
    await host('gatehouse_audit').insert({ ...record, expires_at: NOW + HOUR });
    await host.raw('alter table gatehouse_clients drop column lifetimes');
    await host('gatehouse_migrations').where({ name: CLIENT_LIFETIMES }).delete();
    await storage.migrate();
    t.like(await storage.audit.list({ types: ['secret_deleted'] }), [{ id: 'a', clientId: 'timetable' }]);
  },
);

onEachEmptyDatabase(
  'when processes migrate the first version at once, each migration is applied once',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    const pending = await cluster.atOnce(
      address,
      Array.from({ length: 4 }, () => ({ do: 'migrate' })),
    );
    t.deepEqual(pending, [[], [], [], []]);
    await assertMigrated(t, host);
  },
);

onEachEmptyDatabase(
  'a node of the first version works beside one that has migrated',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    await knexStorage(host).migrate();
    const later = { user_id: 'bob', client_id: 'timetable', scopes: '[]', created_at: NOW, updated_at: NOW };
    await host('gatehouse_consents').insert(later);
    await host('gatehouse_clients').update({ disabled: 1 });
    await host('gatehouse_interactions').insert({ id: 'later', payload: '{}', expires_at: NOW });
    const session = { id: 'later', uid: 'later', user_id: 'bob', payload: '{}', expires_at: NOW };
    await host('gatehouse_sessions').insert(session);
    const { updated_at: _, ...grant } = { ...later, id: 'later', expires_at: NOW, needed_until: NOW };
    await host('gatehouse_grants').insert(grant);
    const storage = knexStorage(host);
    const { clients, consents, revocations, sessions } = storage;
    t.is((await sessions.find('later'))?.session.userId, 'bob');
    const token = { id: 'a', clientId: 'timetable', grant: { id: 'later', userId: 'bob' }, sequence: 0 };
    t.true(await revocations.stands(token));
    await revocations.end({ userId: 'bob' });
    t.is(await sessions.find('later'), undefined);
    t.false(await revocations.stands(token));
    while ((await storage.prune(NOW * 2, 100)) > 0);
    t.deepEqual(await host('gatehouse_interactions'), []);
    t.deepEqual(await consents.find('bob', 'timetable'), aConsent({ userId: 'bob', scopes: [], hosts: {} }));
    t.deepEqual((await clients.find(aClient().id))?.client, aClient({ disabled: true }));
  },
);

onEachEmptyDatabase(
  'a migration that fails before any of its statements is completed by the next one',
  async (t, database, address) => {
    const host = await onFirstVersion(t, database, address);
    let stops = 0;
    for (let last = 1; last < 80; last += 1) {
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
    // Each failed one statement later than the one before, until one completed.
    t.true(stops > 8, `${stops}`);
    await assertMigrated(t, host);
  },
);

for (const beginning of [
  'create table if not exists gatehouse_idempotency ',
  'insert into gatehouse_revocations',
  'update gatehouse_revocations',
]) {
  onEachEmptyDatabase(
    `a process killed in a migration before ${beginning}: the next migration completes it`,
    async (t, database, address) => {
      const host = await onFirstVersion(t, database, address);
      const child = start('migrating-process.ts', database.client, address, beginning);
      await once(child, 'message');
      child.kill('SIGKILL');
      await once(child, 'exit');
      await knexStorage(host).migrate();
      await assertMigrated(t, host);
    },
  );
}
