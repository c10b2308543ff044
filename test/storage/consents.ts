import { aConsent, LOOKALIKES, NOW } from './rows.ts';
import { atOnce, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function consentContract(register: StorageTest): void {
  const test = testsOf(register, 'consents');

  test('consents: add inserts a consent, and merges the scopes into one that exists', async (t, consents) => {
    await consents.add(aConsent({ scopes: ['b', 'a', 'b'], hosts: {} }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ scopes: ['a', 'b'], hosts: {} }));
    await consents.add(
      aConsent({ scopes: ['c', 'a', ''], hosts: {}, createdAt: NOW + 9, updatedAt: NOW + 9 }),
    );
    const merged = aConsent({ scopes: ['', 'a', 'b', 'c'], hosts: {}, updatedAt: NOW + 9 });
    t.deepEqual(await consents.find('ann', 'timetable'), merged);
    await consents.add(aConsent({ scopes: [], hosts: {}, updatedAt: NOW + 8 }));
    t.deepEqual(
      await consents.find('ann', 'timetable'),
      merged,
      'an update with an earlier time, as of a node whose clock is behind',
    );
  });

  test('consents: add stores the scopes of each redirect host separately', async (t, consents) => {
    await consents.add(aConsent({ scopes: ['a'], hosts: { 'https://a.example': ['a'] } }));
    await consents.add(
      aConsent({ scopes: ['b', ''], hosts: { 'com.example.app:': [''], 'https://a.example': ['b', 'a'] } }),
    );
    await consents.add(aConsent({ scopes: [], hosts: { 'http://127.0.0.1:8080': [] } }));
    await consents.add(aConsent({ scopes: ['c'], hosts: {} }));
    t.deepEqual(
      await consents.find('ann', 'timetable'),
      aConsent({
        scopes: ['', 'a', 'b', 'c'],
        hosts: {
          'com.example.app:': [''],
          'http://127.0.0.1:8080': [],
          'https://a.example': ['a', 'b'],
        },
      }),
    );
  });

  test('consents: twenty calls of add at once for different redirect hosts store all hosts', async (t, consents) => {
    const hosts = Object.fromEntries(
      Array.from({ length: 20 }, (_, index) => [
        `https://${String.fromCodePoint(97 + index)}.example`,
        ['a'],
      ]),
    );
    await Promise.all(
      Object.entries(hosts).map(async ([host, scopes]) =>
        consents.add(aConsent({ scopes, hosts: { [host]: scopes } })),
      ),
    );
    t.deepEqual(await consents.list('ann'), [aConsent({ scopes: ['a'], hosts })]);
  });

  test('consents: twenty calls of add at once with different scopes store all scopes', async (t, consents) => {
    const scopes = Array.from({ length: 20 }, (_, index) => `scope:${String.fromCodePoint(97 + index)}`);
    await Promise.all(scopes.map(async (scope) => consents.add(aConsent({ scopes: [scope] }))));
    t.deepEqual(await consents.list('ann'), [aConsent({ scopes })]);
  });

  test('consents: after add and delete at once, no scope from before the deletion is stored', async (t, consents) => {
    for (let round = 0; round < 10; round += 1) {
      await consents.add(aConsent({ scopes: ['before'] }));
      await Promise.all([
        consents.add(aConsent({ scopes: ['one'] })),
        consents.delete('ann', 'timetable'),
        consents.add(aConsent({ scopes: ['other'] })),
      ]);
      const left = (await consents.find('ann', 'timetable'))?.scopes ?? [];
      t.false(left.includes('before'), left.join(' '));
      await consents.delete('ann', 'timetable');
    }
  });

  test('consents: touch stores the time of the last use, and ignores an earlier time', async (t, consents) => {
    await consents.add(aConsent());
    await consents.add(aConsent({ clientId: 'other' }));
    for (const at of [NOW + 5, NOW + 9, NOW + 7]) await consents.touch('ann', 'timetable', at);
    t.deepEqual(await consents.list('ann'), [
      aConsent({ clientId: 'other' }),
      aConsent({ lastUsedAt: NOW + 9 }),
    ]);
  });

  test('consents: twenty calls of touch at once store the latest time', async (t, consents) => {
    await consents.add(aConsent());
    const times = Array.from({ length: 20 }, (_, index) => NOW + ((index * 7) % 20));
    await Promise.all(times.map(async (at) => consents.touch('ann', 'timetable', at)));
    t.is((await consents.find('ann', 'timetable'))?.lastUsedAt, NOW + 19);
  });

  test('consents: touch stores nothing for a consent that does not exist', async (t, consents) => {
    await consents.add(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      await consents.touch(userId, 'timetable', NOW);
      t.is(await consents.find(userId, 'timetable'), undefined);
    }
    t.deepEqual(await consents.find('Id', 'timetable'), aConsent({ userId: 'Id' }));
  });

  test('consents: add keeps the time of last use of a consent that exists', async (t, consents) => {
    await consents.add(aConsent({ lastUsedAt: NOW + 5 }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
    for (const lastUsedAt of [undefined, NOW + 9]) {
      await consents.add(aConsent({ lastUsedAt }));
      t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
    }
    await consents.delete('ann', 'timetable');
    await consents.add(aConsent());
    t.is(
      (await consents.find('ann', 'timetable'))?.lastUsedAt,
      undefined,
      'a consent given again after its deletion',
    );
  });

  test('consents: twenty calls of add at once with the same consent store one row', async (t, consents) => {
    await atOnce(20, async () => consents.add(aConsent()));
    t.deepEqual(await consents.list('ann'), [aConsent()]);
  });

  test('consents: list returns the consents of a user, find the one of a user and a client', async (t, consents) => {
    await consents.add(aConsent({ clientId: 'a' }));
    await consents.add(aConsent({ clientId: 'b', createdAt: NOW + 1 }));
    await consents.add(aConsent({ userId: 'bob', clientId: 'a' }));
    t.deepEqual(
      (await consents.list('ann')).map(({ clientId }) => clientId),
      ['a', 'b'],
    );
    t.deepEqual(await consents.find('bob', 'a'), aConsent({ userId: 'bob', clientId: 'a' }));
    t.is(await consents.find('bob', 'b'), undefined);
    t.deepEqual(await consents.list('unknown'), []);
  });

  test('consents: user ids are compared exactly', async (t, consents) => {
    await consents.add(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      t.is(await consents.find(userId, 'timetable'), undefined, userId);
      t.deepEqual(await consents.list(userId), [], userId);
      t.false(await consents.delete(userId, 'timetable'), userId);
    }
    t.deepEqual(await consents.list('Id'), [aConsent({ userId: 'Id' })]);
  });

  test('consents: delete returns whether there was a consent', async (t, consents) => {
    await consents.add(aConsent());
    t.true(await consents.delete('ann', 'timetable'));
    t.false(await consents.delete('ann', 'timetable'));
    t.is(await consents.find('ann', 'timetable'), undefined);
  });

  test('consents: deleteAll removes those of every user, however many, and counts them', async (t, consents) => {
    const users = Array.from({ length: 210 }, (_, index) => `user ${index}`);
    await Promise.all(users.map(async (userId) => consents.add(aConsent({ userId }))));
    t.is(await consents.deleteAll(), users.length);
    t.is(await consents.deleteAll(), 0);
    t.deepEqual(await consents.list('user 209'), []);
  });
}
