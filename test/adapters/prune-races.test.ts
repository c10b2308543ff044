import { setTimeout as delay } from 'node:timers/promises';

import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aSession, HOUR, NOW } from '../../lib/testing/storage/rows.ts';
import { fill } from './operations.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';

onEachDatabase(
  'a grant that is extended while prune() runs is not deleted',
  async (t, { client }, address) => {
    const storage = knexStorage(address);
    const other = knex({ client, connection: address, pool: { min: 0, max: 1 } });
    t.teardown(async () => {
      await storage.close();
      await other.destroy();
    });
    await storage.migrate();
    await storage.grants.insert(aGrant({ expiresAt: NOW - HOUR }), aCode({ expiresAt: NOW - HOUR }));

    // As a redemption in its last second does.
    const transaction = await other.transaction();
    await transaction('gatehouse_grants').update({ needed_until: NOW + HOUR });
    const pruning = storage.prune(NOW, 100);
    await delay(200);
    await transaction.commit();
    t.is(await pruning, 1, 'the code alone');
    t.is((await storage.grants.find(aGrant().id))?.id, aGrant().id);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'prune() leaves the rows out that another node is deleting, and deletes those after them',
  async (t, { client }, address) => {
    const storage = knexStorage(address, { timeout: '2 seconds' });
    const other = knex({ client, connection: address, pool: { min: 0, max: 1 } });
    t.teardown(async () => {
      await storage.close();
      await other.destroy();
    });
    await storage.migrate();
    // Not expired. Of a small table MariaDB reads and locks all rows.
    await fill(other, client, 1, 1000);
    await other('gatehouse_grants').delete();
    for (let index = 0; index < 25; index += 1) {
      await storage.sessions.insert(
        aSession({ id: `${index}`, uid: `${index}`, expiresAt: NOW - HOUR + index }),
      );
    }
    const transaction = await other.transaction();
    t.teardown(async () => (transaction.isCompleted() ? undefined : transaction.rollback()));
    for (let index = 0; index < 10; index += 1)
      t.is(
        await transaction('gatehouse_sessions')
          .where({ id: `${index}` })
          .delete(),
        1,
      );
    t.is(await storage.prune(NOW, 10), 10);
    t.is(await storage.prune(NOW, 10), 5);
    t.is(await storage.prune(NOW, 10), 0);
    // The other node was stopped before its commit: the rows are deleted by the next that looks at all.
    await transaction.rollback();
    t.is(await storage.prune(NOW, 100), 10);
    t.is(await storage.prune(NOW, 100), 0);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'prune() also deletes rows whose expiry is before that of rows that it has deleted',
  async (t, _database, address) => {
    const storage = knexStorage(address);
    t.teardown(async () => storage.close());
    await storage.migrate();
    const insert = async (id: string, expiresAt: number): Promise<void> =>
      storage.sessions.insert(aSession({ id, uid: id, expiresAt }));
    await insert('1', NOW - 2);
    await insert('2', NOW - 2);
    t.is(await storage.prune(NOW, 1), 1);
    await insert('3', NOW - HOUR);
    t.is(await storage.prune(NOW, 1), 1);
    t.is(await storage.prune(NOW, 1), 1);
    t.is(await storage.prune(NOW, 1), 0);
  },
);

onEachDatabase('concurrent calls of prune() delete each row once', async (t, _database, address) => {
  const storages = Array.from({ length: 3 }, () => knexStorage(address));
  t.teardown(async () => {
    for (const storage of storages) await storage.close();
  });
  const [storage] = storages;
  await storage!.migrate();
  for (let index = 0; index < 700; index += 1) {
    await storage!.sessions.insert(aSession({ id: `${index}`, uid: `${index}`, expiresAt: NOW - 1 }));
  }
  const removed = await Promise.all(
    storages.map(async (one) => {
      let count = 0;
      for (;;) {
        const now = await one.prune(NOW, 100);
        count += now;
        if (now === 0) return count;
      }
    }),
  );
  t.is(
    removed.reduce((sum, count) => sum + count),
    700,
  );
});
