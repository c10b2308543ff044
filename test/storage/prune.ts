import { now } from '../../lib/contracts/clock.ts';
import {
  aClient,
  aCode,
  aConsent,
  aGrant,
  aKey,
  aRecord,
  aRefreshToken,
  aRequest,
  aRevokedToken,
  aSecret,
  aSession,
  HOUR,
  NOW,
} from './rows.ts';
import type { StorageTest } from './store-tests.ts';

export function pruneContract(test: StorageTest): void {
  test('prune: deletes the rows that expired before the given time, and returns their number', async (t, storage) => {
    for (const [id, expiresAt] of [['past', NOW - 1] as const, ['now', NOW] as const]) {
      await storage.sessions.insert(aSession({ id, uid: id, expiresAt }));
      await storage.revocations.revokeToken(aRevokedToken({ id, expiresAt }));
      await storage.audit.append([aRecord({ id })], expiresAt);
      await storage.idempotency.begin(aRequest({ id, leasedUntil: NOW - HOUR, expiresAt }), NOW - HOUR);
      await storage.attempts.count([{ id, limit: 1 }], { now: NOW - HOUR, expiresAt });
    }
    t.is(await storage.prune(NOW, 100), 5);
    t.is(await storage.prune(NOW, 100), 0);
    t.is(await storage.sessions.find('past'), undefined);
    t.is((await storage.sessions.find('now'))?.session.id, 'now');
    const token = { clientId: 'timetable', grant: undefined, sequence: 0 };
    t.true(await storage.revocations.isValid({ ...token, id: 'past' }));
    t.false(await storage.revocations.isValid({ ...token, id: 'now' }));
    t.deepEqual(await storage.audit.list({}), [aRecord({ id: 'now' })]);
    const earlier = { now: NOW - HOUR, expiresAt: NOW };
    t.is((await storage.attempts.count([{ id: 'past', limit: 1 }], earlier)).full, undefined);
    t.is((await storage.attempts.count([{ id: 'now', limit: 1 }], earlier)).full?.expiresAt, NOW);
    const again = { leasedUntil: NOW - HOUR, expiresAt: NOW, attempt: 'another', fingerprint: 'another' };
    t.is(await storage.idempotency.begin(aRequest({ ...again, id: 'past' }), NOW), undefined);
    t.is((await storage.idempotency.begin(aRequest({ ...again, id: 'now' }), NOW))?.attempt, 'attempt-1');
  });

  test('prune: deletes at most as many rows as the limit, and the rest in later calls', async (t, storage) => {
    for (let index = 0; index < 450; index += 1) {
      await storage.sessions.insert(aSession({ id: `${index}`, uid: `${index}`, expiresAt: NOW - 1 }));
    }
    t.is(await storage.prune(NOW, 0), 0);
    t.is(await storage.prune(NOW, 30), 30);
    t.is(await storage.prune(NOW, 1000), 420);
    t.is(await storage.prune(NOW, 1000), 0);
  });

  test('prune: keeps a redeemed credential until it expires, so that reuse is detected', async (t, storage) => {
    const { grants } = storage;
    await grants.insert(aGrant(), aCode({ expiresAt: NOW + 60 }));
    await grants.redeem({ kind: 'code', id: aCode().id }, { successor: aRefreshToken() });
    t.is(await storage.prune(NOW + 60, 100), 0);
    t.true((await grants.findCredential('code', aCode().id))?.spentFor !== undefined);
    t.is(await storage.prune(NOW + 61, 100), 1);
    t.is(await grants.findCredential('code', aCode().id), undefined);
    t.is((await grants.findCredential('refresh_token', aRefreshToken().id))?.grant.id, aGrant().id);
  });

  test('prune: keeps a grant until its codes and refresh tokens have expired', async (t, storage) => {
    const { grants } = storage;
    await grants.insert(aGrant({ expiresAt: NOW + 1 }), aCode({ expiresAt: NOW + 60 }));
    const successor = aRefreshToken({ expiresAt: NOW + HOUR });
    t.is(await storage.prune(NOW + 2, 100), 0);
    await grants.redeem({ kind: 'code', id: aCode().id }, { successor });
    t.is(await storage.prune(NOW + HOUR, 100), 1);
    t.is((await grants.findCredential('refresh_token', successor.id))?.grant.id, aGrant().id);
    t.is(await storage.prune(NOW + HOUR + 1, 100), 2);
    t.is(await grants.find(aGrant().id), undefined);
  });

  test('prune: keeps a grant until the access token issued from its code has expired', async (t, storage) => {
    await storage.grants.insert(aGrant({ expiresAt: NOW + 60 }), aCode({ expiresAt: NOW + 60 }));
    await storage.grants.redeem({ kind: 'code', id: aCode().id }, { neededUntil: NOW + HOUR });
    t.is(await storage.prune(NOW + HOUR, 100), 1);
    t.is((await storage.grants.revoke({ id: aGrant().id }, NOW + HOUR)).length, 1);
    t.is(await storage.prune(NOW + HOUR, 100), 0);
    t.is(await storage.prune(NOW + HOUR + 1, 100), 1);
  });

  test('prune: keeps a revoked grant as long as any other grant', async (t, storage) => {
    const { grants } = storage;
    await grants.insert(aGrant({ expiresAt: NOW + HOUR }), aCode({ expiresAt: NOW + 60 }));
    await grants.revoke({ id: aGrant().id }, NOW);
    t.is(await storage.prune(NOW + HOUR, 100), 1);
    t.is((await grants.find(aGrant().id))?.revokedAt, NOW);
    t.is(await storage.prune(NOW + HOUR + 1, 100), 1);
    t.is(await grants.find(aGrant().id), undefined);
  });

  test('prune: keeps an expired idempotent request until its lease ends', async (t, storage) => {
    await storage.idempotency.begin(aRequest({ expiresAt: NOW + 60 }), NOW);
    await storage.idempotency.extend(aRequest(), NOW + HOUR);
    t.is(await storage.prune(NOW + HOUR, 100), 0);
    const late = aRequest({ attempt: 'another', leasedUntil: NOW + 2 * HOUR });
    t.is((await storage.idempotency.begin(late, NOW + 61))?.attempt, 'attempt-1');
    t.is(await storage.prune(NOW + HOUR + 1, 100), 1);
  });

  test('prune: keeps a key until it has retired, and the newest one', async (t, storage) => {
    const newest = aKey({ id: 'newest', generation: 2, createdAt: 0, activeAt: 0 });
    const cookie = aKey({ id: 'cookie', use: 'cookie', retiresAt: NOW + 1 });
    for (const key of [aKey({ retiresAt: NOW }), newest, cookie]) await storage.keys.insert(key);
    t.is(await storage.prune(NOW, 100), 0);
    t.is(await storage.prune(NOW + 1, 100), 1);
    t.deepEqual(await storage.keys.list('token'), [newest]);
    t.deepEqual(await storage.keys.list('cookie'), [cookie]);
    t.is(await storage.prune(NOW + 2, 100), 1);
    t.deepEqual(await storage.keys.list('cookie'), []);
  });

  test('prune: never deletes clients, secrets, consents or assignments', async (t, storage) => {
    await storage.clients.insert(aClient(), [aSecret({ expiresAt: NOW - 1 })]);
    await storage.consents.add(aConsent({ lastUsedAt: 0 }));
    await storage.assignments.save('ann', { roles: ['registrar'], permissions: [] });
    t.is(await storage.prune(NOW, 100), 0);
    t.is((await storage.clients.find(aClient().id))?.secrets.length, 1);
    t.is((await storage.consents.list('ann')).length, 1);
    t.deepEqual((await storage.assignments.find('ann')).roles, ['registrar']);
  });
}

export function diagnosisContract(test: StorageTest): void {
  test('state: returns the time of the database, if the storage has one', async (t, storage) => {
    const before = Date.now();
    const { clock = before, failing } = await storage.state();
    // Hours of tolerance, because the database may be on another machine, whose clock differs.
    t.true(Math.abs(clock - before) < 12 * HOUR * 1000, `${clock}`);
    t.true(Number.isSafeInteger(clock));
    t.is(failing, undefined);
  });

  test('diagnose: returns how much of the cache the tables need, if the database has one', async (t, storage) => {
    const { cache = { size: 1, needed: 1 } } = await storage.diagnose();
    for (const bytes of [cache.size, cache.needed])
      t.true(Number.isSafeInteger(bytes) && bytes > 0, `${bytes}`);
  });

  test('diagnose: returns the earliest expiry of the rows that prune would delete', async (t, storage) => {
    const { attempts, audit, grants, idempotency, revocations, sessions } = storage;
    const oldest = async () => (await storage.diagnose()).oldestExpired;
    t.is(await oldest(), undefined);

    const soon = now() + HOUR;
    await sessions.insert(aSession({ id: 'live', uid: 'live', expiresAt: soon }));
    await audit.append([aRecord({ id: 'live' })], soon);
    // As a login with the right password does.
    await attempts.count([{ id: 'a', limit: 5 }], { now: now(), expiresAt: soon });
    await attempts.release([], ['a']);
    t.is(await oldest(), undefined, 'nothing has expired');

    const expiresAt = NOW - 10;
    const steps = [
      async () => sessions.insert(aSession({ expiresAt })),
      async () => revocations.revokeToken(aRevokedToken({ expiresAt: expiresAt - 1 })),
      async () => audit.append([aRecord({ id: 'a' })], expiresAt - 2),
      async () => idempotency.begin(aRequest({ expiresAt: expiresAt - 3, leasedUntil: 0 }), 0),
      async () => grants.insert(aGrant({ expiresAt: expiresAt - 5 }), aCode({ expiresAt: expiresAt - 4 })),
    ];
    for (const [index, step] of steps.entries()) {
      await step();
      t.is(await oldest(), expiresAt - index, `${index}`);
    }
    await storage.prune(NOW, 100);
    t.is(await oldest(), undefined);
  });
}
