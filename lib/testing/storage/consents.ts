import { aConsent, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function consentContract(test: StorageTest): void {
  test('consents: save inserts, then replaces the scopes of the one that is there', async (t, {
    consents,
  }) => {
    await consents.save(aConsent({ scopes: [] }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ scopes: [] }));
    const later = { createdAt: NOW + 9, updatedAt: NOW + 9 };
    await consents.save(aConsent({ scopes: ['schools:read', 'schools:write'], ...later }));
    const merged = aConsent({ scopes: ['schools:read', 'schools:write'], updatedAt: NOW + 9 });
    t.deepEqual(await consents.find('ann', 'timetable'), merged);
  });

  test('consents: touch notes the last use, and never an earlier one', async (t, { consents }) => {
    await consents.save(aConsent());
    await consents.save(aConsent({ clientId: 'other' }));
    for (const at of [NOW + 5, NOW + 9, NOW + 7]) await consents.touch('ann', 'timetable', at);
    t.deepEqual(await consents.list('ann'), [
      aConsent({ clientId: 'other' }),
      aConsent({ lastUsedAt: NOW + 9 }),
    ]);
  });

  test('consents: many who touch at once leave the latest time', async (t, { consents }) => {
    await consents.save(aConsent());
    const times = Array.from({ length: 20 }, (_, index) => NOW + ((index * 7) % 20));
    await Promise.all(times.map(async (at) => consents.touch('ann', 'timetable', at)));
    t.is((await consents.find('ann', 'timetable'))?.lastUsedAt, NOW + 19);
  });

  test('consents: touch of one that is not there leaves nothing', async (t, { consents }) => {
    await consents.save(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      await consents.touch(userId, 'timetable', NOW);
      t.is(await consents.find(userId, 'timetable'), undefined);
    }
    t.deepEqual(await consents.find('Id', 'timetable'), aConsent({ userId: 'Id' }));
  });

  test('consents: save keeps the last use of the one that is there', async (t, { consents }) => {
    await consents.save(aConsent({ lastUsedAt: NOW + 5 }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
    for (const lastUsedAt of [undefined, NOW + 9]) {
      await consents.save(aConsent({ scopes: [], lastUsedAt }));
      t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ scopes: [], lastUsedAt: NOW + 5 }));
    }
    await consents.remove('ann', 'timetable');
    await consents.save(aConsent());
    t.is((await consents.find('ann', 'timetable'))?.lastUsedAt, undefined, 'of a consent given anew');
  });

  test('consents: many tabs saving at once leave one row', async (t, { consents }) => {
    await Promise.all(Array.from({ length: 20 }, async () => consents.save(aConsent())));
    t.deepEqual(await consents.list('ann'), [aConsent()]);
  });

  test('consents: list gives those of the user, find that of user and client', async (t, { consents }) => {
    await consents.save(aConsent({ clientId: 'a' }));
    await consents.save(aConsent({ clientId: 'b', createdAt: NOW + 1 }));
    await consents.save(aConsent({ userId: 'bob', clientId: 'a' }));
    t.deepEqual(
      (await consents.list('ann')).map(({ clientId }) => clientId),
      ['a', 'b'],
    );
    t.deepEqual(await consents.find('bob', 'a'), aConsent({ userId: 'bob', clientId: 'a' }));
    t.is(await consents.find('bob', 'b'), undefined);
    t.deepEqual(await consents.list('nobody'), []);
  });

  test('consents: users are told apart exactly', async (t, { consents }) => {
    await consents.save(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      t.is(await consents.find(userId, 'timetable'), undefined, userId);
      t.deepEqual(await consents.list(userId), [], userId);
      t.false(await consents.remove(userId, 'timetable'), userId);
    }
    t.deepEqual(await consents.list('Id'), [aConsent({ userId: 'Id' })]);
  });

  test('consents: remove tells whether there was one', async (t, { consents }) => {
    await consents.save(aConsent());
    t.true(await consents.remove('ann', 'timetable'));
    t.false(await consents.remove('ann', 'timetable'));
    t.is(await consents.find('ann', 'timetable'), undefined);
  });
}
