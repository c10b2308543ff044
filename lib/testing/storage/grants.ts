import { inspect } from 'node:util';

import type { GrantSelector, Storage } from '../../contracts.ts';
import { aCode, aGrant, aRefreshToken, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function grantContract(test: StorageTest): void {
  test('grants: found by id and by user, oldest first', async (t, { credentials, grants }) => {
    const newer = aGrant({ id: 'newer', createdAt: NOW + 1, scopes: [] });
    const older = aGrant({ id: 'older' });
    await credentials.start(newer, aCode({ id: 'a', grantId: 'newer' }));
    await credentials.start(older, aCode({ id: 'b', grantId: 'older' }));
    t.deepEqual(await grants.find('newer'), newer);
    t.deepEqual(await grants.list('ann'), [older, newer]);
    t.is(await grants.find('unknown'), undefined);
    t.deepEqual(await grants.list('bob'), []);
  });

  const selections: readonly { selector: GrantSelector; revoked: readonly string[] }[] = [
    { selector: { id: 'ann-1' }, revoked: ['ann-1'] },
    { selector: { userId: 'ann' }, revoked: ['ann-1', 'ann-2'] },
    { selector: { userId: 'ann', clientId: undefined }, revoked: ['ann-1', 'ann-2'] },
    { selector: { userId: 'ann', clientId: '2' }, revoked: ['ann-2'] },
    { selector: { clientId: '1' }, revoked: ['ann-1', 'bob-1'] },
    { selector: { id: 'unknown' }, revoked: [] },
    { selector: { userId: 'bob', clientId: '2' }, revoked: [] },
  ];
  for (const { selector, revoked } of selections) {
    test(`grants: revoke ${inspect(selector)}`, async (t, storage) => {
      const { grants, revocations } = storage;
      const all = ['ann-1', 'ann-2', 'bob-1'];
      for (const id of all) await startGrant(storage, id);
      t.deepEqual((await grants.revoke(selector, NOW + 5)).toSorted(), revoked);
      for (const id of all) {
        t.is((await grants.find(id))?.revokedAt, revoked.includes(id) ? NOW + 5 : undefined, id);
      }
      const recorded = await revocations.among(all.map((value) => ({ kind: 'grant', value })));
      t.deepEqual(recorded.map(({ value }) => value).toSorted(), revoked);
      t.true(recorded.every(({ revokedAt }) => revokedAt === NOW + 5));
    });
  }

  test('grants: revoke counts those that were live until then', async (t, storage) => {
    await startGrant(storage, 'ann-1');
    t.deepEqual(await storage.grants.revoke({ id: 'ann-1' }, NOW + 5), ['ann-1']);
    t.deepEqual(await storage.grants.revoke({ id: 'ann-1' }, NOW + 6), []);
    t.is((await storage.grants.find('ann-1'))?.revokedAt, NOW + 5);
  });

  test('grants: two who revoke at once share the grants out between them', async (t, storage) => {
    const ids = Array.from({ length: 20 }, (_, index) => `ann-${index}`);
    for (const id of ids) await startGrant(storage, id);
    const revoked = await Promise.all([
      storage.grants.revoke({ userId: 'ann' }, NOW),
      storage.grants.revoke({ userId: 'ann' }, NOW),
    ]);
    t.deepEqual(revoked.flat().toSorted(), ids.toSorted());
  });

  test('grants: revoke takes all, however many there are', async (t, storage) => {
    const ids = Array.from({ length: 700 }, (_, index) => `ann-${index}`);
    for (const id of ids) await startGrant(storage, id);
    t.deepEqual((await storage.grants.revoke({ userId: 'ann' }, NOW)).toSorted(), ids.toSorted());
    const recorded = await storage.revocations.among(ids.map((value) => ({ kind: 'grant', value })));
    t.is(recorded.length, ids.length);
    t.deepEqual(await storage.grants.revoke({ userId: 'ann' }, NOW), []);
  });

  test('grants: revoke takes ids exactly', async (t, storage) => {
    await startGrant(storage, 'Id-1');
    for (const id of LOOKALIKES) {
      t.deepEqual(await storage.grants.revoke({ userId: id }, NOW), [], id);
      t.deepEqual(await storage.grants.revoke({ id: `${id}-1` }, NOW), [], id);
    }
    t.deepEqual(await storage.grants.revoke({ userId: 'Id' }, NOW), ['Id-1']);
  });

  test('grants: every code and token of a revoked grant is dead', async (t, storage) => {
    const { credentials, grants } = storage;
    await startGrant(storage, 'ann-1');
    const successor = aRefreshToken({ grantId: 'ann-1' });
    await credentials.redeem({ kind: 'code', id: 'code of ann-1' }, { at: NOW, successor });
    await grants.revoke({ id: 'ann-1' }, NOW);
    t.is(await credentials.find('code', 'code of ann-1'), undefined);
    t.is(await credentials.find('refresh_token', successor.id), undefined);
    const late = await credentials.redeem({ kind: 'refresh_token', id: successor.id }, { at: NOW });
    t.deepEqual(late, { outcome: 'gone' });
  });

  test('grants: the record of a revocation lasts as long as what came from the grant', async (t, storage) => {
    const { credentials, grants, revocations } = storage;
    const grant = aGrant({ expiresAt: NOW + HOUR });
    await credentials.start(grant, aCode());
    const successor = aRefreshToken({ expiresAt: NOW + 100 * HOUR });
    await credentials.redeem({ kind: 'code', id: aCode().id }, { at: NOW, successor });
    await grants.revoke({ id: grant.id }, NOW);
    const [record] = await revocations.among([{ kind: 'grant', value: grant.id }]);
    t.true((record?.expiresAt ?? 0) >= successor.expiresAt);
    t.is((await grants.find(grant.id))?.expiresAt, grant.expiresAt);
  });
}

/** Starts the grant of the user and the client that its id names. */
async function startGrant({ credentials }: Storage, id: string): Promise<void> {
  const [userId = '', clientId = ''] = id.split('-');
  await credentials.start(aGrant({ id, userId, clientId }), aCode({ id: `code of ${id}`, grantId: id }));
}
