import { aConsent, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from '../test-runner.ts';

export function consentContract(test: StorageTest): void {
  test('consents: add inserts, then adds the scopes to those of the one that is there', async (t, {
    consents,
  }) => {
    await consents.add(aConsent({ scopes: ['b', 'a', 'b'], hosts: {} }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ scopes: ['a', 'b'], hosts: {} }));
    await consents.add(
      aConsent({ scopes: ['c', 'a', ''], hosts: {}, createdAt: NOW + 9, updatedAt: NOW + 9 }),
    );
    const merged = aConsent({ scopes: ['', 'a', 'b', 'c'], hosts: {}, updatedAt: NOW + 9 });
    t.deepEqual(await consents.find('ann', 'timetable'), merged);
    await consents.add(aConsent({ scopes: [], hosts: {}, updatedAt: NOW + 8 }));
    t.deepEqual(await consents.find('ann', 'timetable'), merged, 'of a node whose clock is behind');
  });

  test('consents: the scopes of each redirect host are kept apart', async (t, { consents }) => {
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

  test('consents: many tabs that agree for different redirect hosts at once lose none of them', async (t, {
    consents,
  }) => {
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

  test('consents: many tabs that agree to different scopes at once lose none of them', async (t, {
    consents,
  }) => {
    const scopes = Array.from({ length: 20 }, (_, index) => `scope:${String.fromCodePoint(97 + index)}`);
    await Promise.all(scopes.map(async (scope) => consents.add(aConsent({ scopes: [scope] }))));
    t.deepEqual(await consents.list('ann'), [aConsent({ scopes })]);
  });

  test('consents: add and remove at once never leave what was agreed to before', async (t, { consents }) => {
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

  test('consents: touch notes the last use, and never an earlier one', async (t, { consents }) => {
    await consents.add(aConsent());
    await consents.add(aConsent({ clientId: 'other' }));
    for (const at of [NOW + 5, NOW + 9, NOW + 7]) await consents.touch('ann', 'timetable', at);
    t.deepEqual(await consents.list('ann'), [
      aConsent({ clientId: 'other' }),
      aConsent({ lastUsedAt: NOW + 9 }),
    ]);
  });

  test('consents: many who touch at once leave the latest time', async (t, { consents }) => {
    await consents.add(aConsent());
    const times = Array.from({ length: 20 }, (_, index) => NOW + ((index * 7) % 20));
    await Promise.all(times.map(async (at) => consents.touch('ann', 'timetable', at)));
    t.is((await consents.find('ann', 'timetable'))?.lastUsedAt, NOW + 19);
  });

  test('consents: touch of one that is not there leaves nothing', async (t, { consents }) => {
    await consents.add(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      await consents.touch(userId, 'timetable', NOW);
      t.is(await consents.find(userId, 'timetable'), undefined);
    }
    t.deepEqual(await consents.find('Id', 'timetable'), aConsent({ userId: 'Id' }));
  });

  test('consents: add keeps the last use of the one that is there', async (t, { consents }) => {
    await consents.add(aConsent({ lastUsedAt: NOW + 5 }));
    t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
    for (const lastUsedAt of [undefined, NOW + 9]) {
      await consents.add(aConsent({ lastUsedAt }));
      t.deepEqual(await consents.find('ann', 'timetable'), aConsent({ lastUsedAt: NOW + 5 }));
    }
    await consents.delete('ann', 'timetable');
    await consents.add(aConsent());
    t.is((await consents.find('ann', 'timetable'))?.lastUsedAt, undefined, 'of a consent given anew');
  });

  test('consents: many tabs that agree to the same at once leave one row', async (t, { consents }) => {
    await Promise.all(Array.from({ length: 20 }, async () => consents.add(aConsent())));
    t.deepEqual(await consents.list('ann'), [aConsent()]);
  });

  test('consents: list gives those of the user, find that of user and client', async (t, { consents }) => {
    await consents.add(aConsent({ clientId: 'a' }));
    await consents.add(aConsent({ clientId: 'b', createdAt: NOW + 1 }));
    await consents.add(aConsent({ userId: 'bob', clientId: 'a' }));
    t.deepEqual(
      (await consents.list('ann')).map(({ clientId }) => clientId),
      ['a', 'b'],
    );
    t.deepEqual(await consents.find('bob', 'a'), aConsent({ userId: 'bob', clientId: 'a' }));
    t.is(await consents.find('bob', 'b'), undefined);
    t.deepEqual(await consents.list('nobody'), []);
  });

  test('consents: users are told apart exactly', async (t, { consents }) => {
    await consents.add(aConsent({ userId: 'Id' }));
    for (const userId of LOOKALIKES) {
      t.is(await consents.find(userId, 'timetable'), undefined, userId);
      t.deepEqual(await consents.list(userId), [], userId);
      t.false(await consents.delete(userId, 'timetable'), userId);
    }
    t.deepEqual(await consents.list('Id'), [aConsent({ userId: 'Id' })]);
  });

  test('consents: remove tells whether there was one', async (t, { consents }) => {
    await consents.add(aConsent());
    t.true(await consents.delete('ann', 'timetable'));
    t.false(await consents.delete('ann', 'timetable'));
    t.is(await consents.find('ann', 'timetable'), undefined);
  });
}
