import { setImmediate as nextTurn } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts.ts';
import { aClient, aCode, aGrant, NOW } from '../../lib/testing/storage/rows.ts';
import { mariadb, onEachDatabase, postgresql, sqlite } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { watchedKnex } from './watched-knex.ts';

const IDS = Array.from({ length: 600 }, (_, index) => `grant ${index}`);

async function withManyGrants(t: ExecutionContext, storage: Storage): Promise<Storage> {
  t.teardown(async () => storage.close());
  await storage.migrate();
  await storage.clients.insert(aClient({ id: 'timetable' }), []);
  for (const id of IDS) await storage.credentials.start(aGrant({ id }), aCode({ id, grantId: id }));
  return storage;
}

/** How many other calls are answered until the given one is. */
async function answeredMeanwhile(storage: Storage, call: Promise<unknown>): Promise<number> {
  let count = 0;
  let isOver = false;
  const over = call.finally(() => {
    isOver = true;
  });
  for (;;) {
    await storage.grants.find('unknown');
    await nextTurn();
    if (isOver) break;
    count += 1;
  }
  await over;
  return count;
}

// SQLite answers on this thread: what it does in one go, nobody gets through.
onEachDatabase(
  'while many grants are revoked, others are served',
  async (t, _database, address) => {
    const storage = await withManyGrants(t, knexStorage(address));
    t.true((await answeredMeanwhile(storage, storage.grants.revoke({ clientId: 'timetable' }, NOW))) > 0);
  },
  [sqlite],
);

onEachDatabase(
  'while a client with many grants is removed, others are served',
  async (t, _database, address) => {
    const storage = await withManyGrants(t, knexStorage(address));
    t.true((await answeredMeanwhile(storage, storage.clients.remove('timetable'))) > 0);
  },
  [sqlite],
);

/** A storage whose connections fail after so many statements, until told otherwise. */
function failing(
  t: ExecutionContext,
  client: TestDatabase['client'],
  address: string,
): { readonly storage: Storage; readonly failAfter: (statements: number) => void } {
  let left = Infinity;
  const host = watchedKnex(client, address, () => {
    left -= 1;
    if (left < 0) throw new Error('the connection is lost');
  });
  t.teardown(async () => host.destroy());
  return {
    storage: knexStorage(host),
    failAfter: (statements) => {
      left = statements;
    },
  };
}

onEachDatabase(
  'revoking that is interrupted is finished by revoking again',
  async (t, { client }, address) => {
    const { storage, failAfter } = failing(t, client, address);
    await withManyGrants(t, storage);
    const keys = IDS.map((value) => ({ kind: 'grant', value }) as const);
    const revokedIds = async () => {
      const grants = await Promise.all(IDS.map(async (id) => storage.grants.find(id)));
      return grants.flatMap((grant) => (grant?.revokedAt === undefined ? [] : grant.id));
    };

    failAfter(13);
    await t.throwsAsync(storage.grants.revoke({ clientId: 'timetable' }, NOW), { code: 'ERR_STORAGE' });
    failAfter(Infinity);
    const first = await revokedIds();
    t.true(first.length > 0 && first.length < IDS.length, `${first.length}`);
    const recorded = await storage.revocations.among(keys);
    const recordedIds = recorded.map(({ value }) => value);
    t.deepEqual(recordedIds.toSorted(), first.toSorted(), 'each with its record');

    const second = await storage.grants.revoke({ clientId: 'timetable' }, NOW);
    t.is(first.length + second.length, IDS.length);
    t.is((await revokedIds()).length, IDS.length);
    t.is((await storage.revocations.among(keys)).length, IDS.length);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'a client whose removal is interrupted is gone, and removing it again removes the rest',
  async (t, { client }, address) => {
    const { storage, failAfter } = failing(t, client, address);
    await withManyGrants(t, storage);

    failAfter(6);
    await t.throwsAsync(storage.clients.remove('timetable'), { code: 'ERR_STORAGE' });
    failAfter(Infinity);
    t.is(await storage.clients.find('timetable'), undefined);
    const left = await storage.grants.list('ann');
    t.true(left.length > 0 && left.length < IDS.length, `${left.length}`);

    t.false(await storage.clients.remove('timetable'));
    t.deepEqual(await storage.grants.list('ann'), []);
  },
  [postgresql, mariadb],
);
