import { inspect } from 'node:util';

import type { Grant, GrantSelector, Storage } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken, aSession, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function grantContract(register: StorageTest): void {
  const test = testsOf(register, 'grants');

  test('grants: find returns the grant with the id', async (t, grants) => {
    const grant = aGrant();
    await grants.insert(grant, aCode());
    t.deepEqual(await grants.find(grant.id), grant);
    t.is(await grants.find('unknown'), undefined);
  });

  test('grants: scopes that are undefined and scopes that are empty stay different', async (t, grants) => {
    for (const [id, scopes] of [
      ['everything', undefined],
      ['nothing', []],
      ['one', ['schools:read']],
    ] as const) {
      const code = aCode({ id: `code of ${id}`, grantId: id });
      await grants.insert(aGrant({ id, scopes }), code);
      t.deepEqual((await grants.find(id))?.scopes, scopes);
      t.deepEqual((await grants.findCredential('code', code.id))?.grant.scopes, scopes);
      const successor = aRefreshToken({ id: `refresh token of ${id}`, grantId: id });
      await grants.redeem({ kind: 'code', id: code.id }, { successor });
      t.deepEqual((await grants.findCredential('refresh_token', successor.id))?.grant.scopes, scopes);
    }
  });

  const selections: readonly { selector: GrantSelector; revoked: readonly string[] }[] = [
    { selector: { id: 'ann-1' }, revoked: ['ann-1'] },
    { selector: { userId: 'ann', clientId: '2' }, revoked: ['ann-2'] },
    { selector: { id: 'unknown' }, revoked: [] },
    { selector: { userId: 'bob', clientId: '2' }, revoked: [] },
  ];
  for (const { selector, revoked } of selections) {
    test(`grants: revoke ${inspect(selector)}`, async (t, grants, storage) => {
      const all = ['ann-1', 'ann-2', 'bob-1'];
      for (const id of all) await startGrant(storage, id);
      t.deepEqual((await grants.revoke(selector, NOW + 5)).toSorted(), revoked);
      for (const id of all) {
        t.is((await grants.find(id))?.revokedAt, revoked.includes(id) ? NOW + 5 : undefined, id);
      }
    });
  }

  test('grants: revoke returns only grants that were not revoked before', async (t, grants, storage) => {
    await startGrant(storage, 'ann-1');
    t.deepEqual(await grants.revoke({ id: 'ann-1' }, NOW + 5), ['ann-1']);
    t.deepEqual(await grants.revoke({ id: 'ann-1' }, NOW + 6), []);
    t.is((await grants.find('ann-1'))?.revokedAt, NOW + 5);
  });

  test('grants: two calls of revoke at once return each grant exactly once', async (t, grants, storage) => {
    const ids = Array.from({ length: 20 }, (_, index) => `ann-1-${index}`);
    for (const id of ids) await startGrant(storage, id);
    const revoked = await Promise.all([
      grants.revoke({ userId: 'ann', clientId: '1' }, NOW),
      grants.revoke({ userId: 'ann', clientId: '1' }, NOW),
    ]);
    t.deepEqual(revoked.flat().toSorted(), ids.toSorted());
  });

  test('grants: revoke revokes 700 grants in one call', async (t, grants, storage) => {
    const ids = Array.from({ length: 700 }, (_, index) => `ann-1-${index}`);
    for (const id of ids) await startGrant(storage, id);
    t.deepEqual((await grants.revoke({ userId: 'ann', clientId: '1' }, NOW)).toSorted(), ids.toSorted());
    t.deepEqual(await grants.revoke({ userId: 'ann', clientId: '1' }, NOW), []);
  });

  test('grants: revoke compares ids exactly', async (t, grants, storage) => {
    await startGrant(storage, 'Id-1');
    for (const id of LOOKALIKES) {
      t.deepEqual(await grants.revoke({ userId: id, clientId: '1' }, NOW), [], id);
      t.deepEqual(await grants.revoke({ id: `${id}-1` }, NOW), [], id);
    }
    t.deepEqual(await grants.revoke({ userId: 'Id', clientId: '1' }, NOW), ['Id-1']);
  });

  test('grants: list returns those that the client can use, the last used one first', async (t, grants, storage) => {
    const of = { userId: 'ann', clientId: '1' };
    for (const id of ['ann-1-a', 'ann-1-b', 'ann-1-c', 'ann-1-d', 'ann-2', 'bob-1'])
      await startGrant(storage, id);
    const page = { now: NOW, limit: 10 };
    const isOf = ({ clientId }: { readonly clientId: string }): boolean => clientId === of.clientId;
    const ids = async (at = NOW): Promise<string[]> =>
      (await grants.list(of.userId, { ...page, now: at })).filter(isOf).map(({ id }) => id);
    t.deepEqual(await ids(), ['ann-1-a', 'ann-1-b', 'ann-1-c', 'ann-1-d']);
    await grants.touch('ann-1-c', NOW + 20);
    await grants.touch('ann-1-c', NOW + 10);
    await grants.touch('ann-1-b', NOW + 5);
    await grants.touch('unknown', NOW);
    const two = await grants.list(of.userId, { ...page, limit: 2 });
    t.deepEqual(
      two.filter((grant) => !isOf(grant)).map(({ id }) => id),
      ['ann-2'],
    );
    const [first, ...others] = two.filter(isOf);
    t.deepEqual(first, { ...aGrant(), ...of, id: 'ann-1-c', lastUsedAt: NOW + 20 });
    t.deepEqual(
      others.map((grant) => [grant.id, grant.lastUsedAt]),
      [['ann-1-b', NOW + 5]],
    );
    await grants.revoke({ id: 'ann-1-a' }, NOW);
    t.deepEqual(await ids(), ['ann-1-c', 'ann-1-b', 'ann-1-d']);
    // When its last credential expires, which is the successor of the code of the first.
    const successor = aRefreshToken({ grantId: 'ann-1-d', expiresAt: NOW + 48 * HOUR });
    await grants.redeem({ kind: 'code', id: 'code of ann-1-d' }, { successor });
    t.deepEqual(await ids(NOW + 24 * HOUR + 10), ['ann-1-d']);
    t.deepEqual(await ids(NOW + 48 * HOUR), []);
    await storage.revocations.revokeAllOf({ userId: 'ann' });
    t.deepEqual(await ids(), []);
    for (const userId of [...LOOKALIKES, '\0']) t.deepEqual(await grants.list(userId, page), []);
  });

  test('grants: endUnused ends those that were not used for the longest time, of one user and client', async (t, grants, storage) => {
    const all = ['ann-1-a', 'ann-1-b', 'ann-1-c', 'ann-1-d', 'ann-1-e', 'ann-2', 'bob-1'];
    for (const id of all) await startGrant(storage, id);
    await grants.touch('ann-1-d', NOW + 10);
    await grants.touch('ann-1-e', NOW + 20);
    await grants.revoke({ id: 'ann-1-c' }, NOW);
    const of = { userId: 'ann', clientId: '1', kept: 'ann-1-b' };
    const end = async (most: number): Promise<readonly string[]> =>
      (await grants.endUnused(of, most, NOW + 30)).toSorted();
    t.deepEqual(await end(4), []);
    const expired = { createdAt: NOW + 25, expiresAt: NOW + 26 };
    await grants.insert(
      aGrant({ userId: 'ann', clientId: '1', id: 'f', ...expired }),
      aCode({ id: 'f', grantId: 'f', ...expired }),
    );
    t.deepEqual(await end(4), []);
    t.deepEqual(await end(3), ['ann-1-a']);
    t.deepEqual(await end(3), []);
    t.is((await grants.find('ann-1-a'))?.revokedAt, NOW + 30);
    t.is(await grants.findCredential('code', 'code of ann-1-a'), undefined);
    t.deepEqual(await end(1), ['ann-1-d', 'ann-1-e']);
    for (const id of ['ann-1-b', 'ann-2', 'bob-1']) t.is((await grants.find(id))?.revokedAt, undefined, id);
    t.is((await grants.find('ann-1-c'))?.revokedAt, NOW);
    for (const userId of LOOKALIKES)
      t.deepEqual(await grants.endUnused({ ...of, userId }, 1, NOW), [], userId);
  });

  test('grants: endUnused ends 700 grants; one that is of no use for a logout may be pruned, and each session is told', async (t, grants, storage) => {
    const { ends, sessions } = storage;
    await ends.read('test', ['sign_in'], Number.MAX_SAFE_INTEGER);
    for (const [id, sessionUid] of [
      ['ann-1-a', 'early'],
      ['ann-1-b', 'early'],
      ['ann-1-c', 'late'],
      ['ann-1-d', 'late'],
    ] as const) {
      await sessions.insert(aSession({ id: sessionUid, uid: sessionUid })).catch(() => {});
      await startGrant(storage, id, { sessionUid });
    }
    for (let number = 0; number < 700; number += 1) await startGrant(storage, `ann-1-e${number}`);
    await grants.touch('ann-1-d', NOW + 10);
    const of = { userId: 'ann', clientId: '1', kept: 'ann-1-d' };
    t.is((await grants.endUnused(of, 1, NOW)).length, 703);
    t.is((await grants.find('ann-1-a'))?.sessionUid, 'early');
    while ((await storage.prune(NOW + 1, 1000)) > 0);
    const left = ['ann-1-a', 'ann-1-b', 'ann-1-c', 'ann-1-d', 'ann-1-e0'];
    const found = await Promise.all(left.map(async (id) => (await grants.find(id))?.id));
    t.deepEqual(found, ['ann-1-a', undefined, undefined, 'ann-1-d', undefined]);
    for (const uid of ['early', 'late']) {
      await sessions.end(uid);
      const page = { now: Number.MAX_SAFE_INTEGER - 1, leasedUntil: Number.MAX_SAFE_INTEGER, limit: 10 };
      const taken = await ends.take('test', page);
      await ends.done(taken);
      t.deepEqual(
        taken.map(({ sessionUid }) => sessionUid),
        [uid],
      );
    }
  });

  test('grants: of inserts at once, each followed by endUnused, as many are left as may be', async (t, grants, storage) => {
    for (let number = 0; number < 40; number += 1) await startGrant(storage, `ann-1-${number}`);
    for (let round = 1; round <= 3; round += 1) {
      const createdAt = NOW + round;
      await atOnce(30, async (caller) => {
        const kept = `ann-1-${round}-${caller}`;
        await startGrant(storage, kept, { createdAt });
        await grants.endUnused({ userId: 'ann', clientId: '1', kept }, 40, NOW);
      });
      const left = await grants.list('ann', { now: NOW, limit: 100 });
      t.is(left.length, 40);
      t.is(left.filter((grant) => grant.createdAt === createdAt).length, 30);
    }
  });

  test('grants: codes and refresh tokens of a revoked grant are not found and cannot be redeemed', async (t, grants, storage) => {
    await startGrant(storage, 'ann-1');
    const successor = aRefreshToken({ grantId: 'ann-1' });
    await grants.redeem({ kind: 'code', id: 'code of ann-1' }, { successor });
    await grants.revoke({ id: 'ann-1' }, NOW);
    t.is(await grants.findCredential('code', 'code of ann-1'), undefined);
    t.is(await grants.findCredential('refresh_token', successor.id), undefined);
    const late = await grants.redeem({ kind: 'refresh_token', id: successor.id }, {});
    t.deepEqual(late, { outcome: 'gone' });
  });
}

/** Starts the grant `user-client` of that user and client. */
async function startGrant({ grants }: Storage, id: string, fields: Partial<Grant> = {}): Promise<void> {
  const [userId = '', clientId = ''] = id.split('-');
  await grants.insert(
    aGrant({ id, userId, clientId, ...fields }),
    aCode({ id: `code of ${id}`, grantId: id }),
  );
}
