import { aCode, aGrant, aSession, HOUR, NOW } from '../storage/rows.ts';
import { fill } from './operations.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { openHost, openNodes, openStorage, openTransaction, SOLE } from './host-knex.ts';
import { PATIENT } from './server-contract.ts';

onEachDatabase(
  'a grant that is extended while prune() runs is not deleted',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address);
    const other = openHost(t, client, address, SOLE);
    await storage.grants.insert(aGrant({ expiresAt: NOW - HOUR }), aCode({ expiresAt: NOW - HOUR }));

    // As a redemption in its last second does.
    const transaction = await openTransaction(t, other);
    await transaction('gatehouse_grants').update({ needed_until: NOW + HOUR });
    t.is(await storage.prune(NOW, 100), 1, 'the code alone');
    await transaction.commit();
    t.is(await storage.prune(NOW, 100), 0);
    t.is((await storage.grants.find(aGrant().id))?.id, aGrant().id);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'prune() leaves the rows out that another node is deleting, and deletes those after them',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address, { timeout: '2 seconds' });
    const other = openHost(t, client, address, SOLE);
    // Not expired. Of a small table MariaDB reads and locks all rows.
    await fill(other, client, 1, 1000);
    await other('gatehouse_grants').delete();
    // Nobody reads them.
    await other('gatehouse_ends').delete();
    const ids = Array.from({ length: 25 }, (_, index) => `${index}`);
    for (const [index, id] of ids.entries())
      await storage.sessions.insert(aSession({ id, uid: id, expiresAt: NOW - HOUR + index }));
    const transaction = await openTransaction(t, other);
    t.is(await transaction('gatehouse_sessions').whereIn('id', ids.slice(0, 10)).delete(), 10);
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
    const storage = await openStorage(t, address);
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
  const nodes = openNodes(t, 3, address, PATIENT);
  const [first] = nodes;
  await first.migrate();
  const ids = Array.from({ length: 400 }, (_, index) => `${index}`);
  await Promise.all(
    ids.map(async (id) => first.sessions.insert(aSession({ id, uid: id, expiresAt: NOW - 1 }))),
  );
  let removed = 0;
  await Promise.all(
    nodes.map(async (node) => {
      let count: number;
      do {
        count = await node.prune(NOW, 50);
        removed += count;
      } while (count > 0);
    }),
  );
  t.is(removed, 400);
});

onEachDatabase(
  'prune() does not wait for a locked row that has not expired, in a small table',
  async (t, { client }, address) => {
    const storage = await openStorage(t, address, { timeout: '2 seconds' });
    const other = openHost(t, client, address, SOLE);
    const expired = Array.from({ length: 20 }, (_, index) => [`${index}`, NOW - HOUR] as const);
    // InnoDB also locks the first row that has not expired, as the end of the others.
    for (const [id, expiresAt] of [...expired, ['next', NOW + 1], ['locked', NOW + HOUR]] as const)
      await storage.sessions.insert(aSession({ id, uid: id, expiresAt }));
    const transaction = await openTransaction(t, other);
    await transaction('gatehouse_sessions').where({ id: 'locked' }).update({ payload: '{}' });
    t.is(await storage.prune(NOW, 100), expired.length);
  },
  [postgresql, mariadb],
);
