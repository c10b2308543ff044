import { ERASED_USER } from '../../lib/contracts/user-data.ts';
import type { Storage, StoredUserData } from '../../lib/contracts/index.ts';
import { aClient, aCode, aConsent, aGrant, aRecord, aRefreshToken, aSession, HOUR, NOW } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function userDataContract(register: StorageTest): void {
  const test = testsOf(register, 'userData');

  test('user data: read and erase find all of one user and nothing of another, and erase can be repeated', async (t, userData, storage) => {
    for (const userId of ['ann', 'bob']) await fill(storage, userId);
    const before = await readAll(storage, 'ann');
    t.deepEqual([before.sessions.length, before.grants.length, before.audit.length], [1, 1, 3]);
    const bob = await readAll(storage, 'bob');
    t.deepEqual(
      (await userData.sessions('ann', { now: NOW, limit: 5 })).map(({ createdAt, id }) => [createdAt, id]),
      [[NOW, 'session of ann']],
    );
    t.deepEqual(await userData.sessions('ann', { now: NOW + 10_000 * HOUR, limit: 5 }), []);

    let rows = 0;
    await userData.erase('ann', (changed) => {
      rows += changed;
      return true;
    });
    t.true(rows >= 10);
    const again: number[] = [];
    await userData.erase('ann', (changed) => again.push(changed) > 0);
    t.deepEqual(again, []);
    t.deepEqual(await readAll(storage, 'ann'), { sessions: [], grants: [], audit: [] });
    t.is(await storage.grants.find('ann-1'), undefined);
    t.is(await storage.grants.findCredential('refresh_token', 'refresh of ann'), undefined);
    t.deepEqual(await storage.consents.list('ann'), []);
    t.deepEqual(await storage.assignments.find('ann'), { roles: [], permissions: [] });
    const { client } = (await storage.clients.find('app of ann'))!;
    t.deepEqual([client.ownerId, client.disabledBy], [ERASED_USER, ERASED_USER]);
    t.deepEqual(await storage.clients.list({ ownerId: 'ann', limit: 5 }), []);
    const records = await storage.audit.list({ limit: 50 });
    t.is(records.length, 6, 'no record is deleted');
    t.false(JSON.stringify(records.filter(({ id }) => id.startsWith('ann'))).includes('"ann"'));
    t.false(JSON.stringify(records).includes('192.0.2.ann'));
    t.deepEqual(
      records.filter(({ id }) => id === 'ann-token'),
      [
        aRecord(
          { id: 'ann-token' },
          { type: 'personal_token_revoked', userId: ERASED_USER, tokenId: 'token of ann', name: '' },
        ),
      ],
    );

    t.deepEqual(await readAll(storage, 'bob'), bob);
    t.is((await storage.grants.findCredential('code', 'code of bob'))?.grant.userId, 'bob');
    t.is((await storage.clients.find('app of bob'))?.client.ownerId, 'bob');
    for (const other of ['unknown', 'BOB', 'bob ', 'bo', 'b\u00f3b', 'a\0b', 'x'.repeat(5000)]) {
      await userData.erase(other, (changed) => again.push(changed) > 0);
      t.deepEqual(await readAll(storage, other), { sessions: [], grants: [], audit: [] });
    }
    t.deepEqual(again, []);
  });

  test('user data: what began before the end of its user is not stored afterwards', async (t, _userData, storage) => {
    const { consents, grants, revocations, sessions } = storage;
    const sequence = await revocations.latestSequence();
    await revocations.revokeAllOf({ userId: 'ann' });
    await sessions.insert(aSession({ sequence }));
    t.false(await grants.insert(aGrant({ sequence }), aCode()));
    await consents.add(aConsent(), sequence);
    t.deepEqual(await readAll(storage, 'ann'), { sessions: [], grants: [], audit: [] });
    t.deepEqual(await consents.list('ann'), []);

    const now = await revocations.latestSequence();
    await consents.add(aConsent({ scopes: ['a'] }), now);
    await consents.add(aConsent({ scopes: ['b'] }), sequence);
    t.deepEqual((await consents.find('ann', 'timetable'))?.scopes, ['a']);
    t.true(await grants.insert(aGrant({ sequence: now }), aCode()));
  });

  test('user data: of redemptions beside an erasure, no credential is left', async (t, userData, storage) => {
    for (let round = 0; round < 20; round += 1) {
      const userId = `user ${round}`;
      const refreshed = Array.from({ length: 8 }, async (_, index) => {
        const grantId = `${userId} ${index}`;
        await storage.grants.insert(aGrant({ id: grantId, userId }), aCode({ id: grantId, grantId }));
        await storage.grants.redeem(
          { kind: 'code', id: grantId },
          { successor: aRefreshToken({ id: grantId, grantId }) },
        );
      });
      await Promise.all([...refreshed, userData.erase(userId, () => true)]);
      let rows = 1;
      while (rows > 0) {
        rows = 0;
        await userData.erase(userId, (changed) => (rows += changed) > 0);
      }
    }
    t.is(await storage.prune(NOW + 10_000 * HOUR, 100), 0);
  });
}

/** Stores something of a user in each table. */
async function fill(storage: Storage, userId: string): Promise<void> {
  const owned = { id: `app of ${userId}`, ownerId: userId, disabled: true, disabledBy: userId };
  await storage.clients.insert(aClient(owned), []);
  const grant = aGrant({ id: `${userId}-1`, userId });
  await storage.grants.insert(grant, aCode({ id: `code of ${userId}`, grantId: grant.id }));
  if (userId === 'ann') {
    await storage.grants.redeem(
      { kind: 'code', id: 'code of ann' },
      { successor: aRefreshToken({ id: 'refresh of ann', grantId: grant.id }) },
    );
  }
  const session = aSession({ id: `session of ${userId}`, uid: `uid of ${userId}`, userId });
  await storage.sessions.insert(session);
  await storage.consents.add(aConsent({ userId }));
  await storage.assignments.save(userId, { roles: ['registrar'], permissions: [] });
  await storage.audit.append(
    [
      aRecord(
        { id: `${userId}-login` },
        { type: 'login', userId, clientId: 'timetable', address: `192.0.2.${userId}` },
      ),
      aRecord(
        { id: `${userId}-actor` },
        { type: 'client_disabled', clientId: owned.id, name: 'App', actorId: userId },
      ),
      aRecord(
        { id: `${userId}-token` },
        { type: 'personal_token_revoked', userId, tokenId: `token of ${userId}`, name: 'Mine' },
      ),
    ],
    NOW + HOUR,
  );
}

async function readAll(
  { userData }: Storage,
  userId: string,
): Promise<Record<StoredUserData['kind'], readonly unknown[]>> {
  const read: Record<StoredUserData['kind'], unknown[]> = { sessions: [], grants: [], audit: [] };
  await userData.read(userId, ({ kind, rows }) => read[kind].push(...rows));
  return read;
}
