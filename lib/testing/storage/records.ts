import { anInteraction, aSession, HOUR, LOOKALIKES, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function recordContract(test: StorageTest): void {
  test('interactions: save inserts or replaces, find and remove by id', async (t, { interactions }) => {
    await interactions.save(anInteraction());
    t.deepEqual(await interactions.find(anInteraction().id), anInteraction());
    const replaced = anInteraction({ payload: { prompt: 'consent' }, expiresAt: NOW + 2 * HOUR });
    await interactions.save(replaced);
    t.deepEqual(await interactions.find(replaced.id), replaced);
    await interactions.remove(replaced.id);
    await interactions.remove(replaced.id);
    t.is(await interactions.find(replaced.id), undefined);
  });

  test('interactions: ids are taken exactly', async (t, { interactions }) => {
    await interactions.save(anInteraction({ id: 'Id' }));
    for (const id of LOOKALIKES) {
      t.is(await interactions.find(id), undefined, id);
      await interactions.remove(id);
    }
    t.deepEqual(await interactions.find('Id'), anInteraction({ id: 'Id' }));
  });

  test('sessions: save inserts or replaces, also by many at once', async (t, { sessions }) => {
    await sessions.save(aSession({ userId: undefined }));
    t.deepEqual(await sessions.find(aSession().id), aSession({ userId: undefined }));
    const replaced = aSession({ uid: 'uid-2', payload: {}, expiresAt: NOW + 2 * HOUR });
    await Promise.all(Array.from({ length: 20 }, async () => sessions.save(replaced)));
    t.deepEqual(await sessions.find(replaced.id), replaced);
    t.is(await sessions.findByUid('uid-1'), undefined);
  });

  test('sessions: found by uid, also while a session has its old id and its new one', async (t, {
    sessions,
  }) => {
    await sessions.save(aSession());
    t.deepEqual(await sessions.findByUid('uid-1'), aSession());
    const renamed = aSession({ id: 'session-2', expiresAt: NOW + 2 * HOUR });
    await sessions.save(renamed);
    t.deepEqual(await sessions.findByUid('uid-1'), renamed);
    await sessions.remove('session-1');
    t.deepEqual(await sessions.findByUid('uid-1'), renamed);
    t.is(await sessions.find('session-1'), undefined);
  });

  test('sessions: removeOfUser ends those of one user and counts them', async (t, { sessions }) => {
    await sessions.save(aSession({ id: '1', uid: '1' }));
    await sessions.save(aSession({ id: '2', uid: '2' }));
    await sessions.save(aSession({ id: '3', uid: '3', userId: 'Ann' }));
    await sessions.save(aSession({ id: '4', uid: '4', userId: undefined }));
    t.is(await sessions.removeOfUser('ann'), 2);
    t.is(await sessions.removeOfUser('ann'), 0);
    t.is(await sessions.find('1'), undefined);
    t.is((await sessions.find('3'))?.userId, 'Ann');
    t.is((await sessions.find('4'))?.userId, undefined);
  });

  test('sessions: ids are taken exactly', async (t, { sessions }) => {
    await sessions.save(aSession({ id: 'Id', uid: 'Id' }));
    for (const id of LOOKALIKES) {
      t.is(await sessions.find(id), undefined, id);
      t.is(await sessions.findByUid(id), undefined, id);
    }
  });

  test('records: expired ones may be returned, what was found is a copy', async (t, storage) => {
    await storage.interactions.save(anInteraction({ expiresAt: NOW - 1 }));
    const found = await storage.interactions.find(anInteraction().id);
    Object.assign(found?.payload ?? {}, { prompt: 'changed' });
    const again = await storage.interactions.find(anInteraction().id);
    t.true(again === undefined || again.payload['prompt'] === 'login');
  });
}
