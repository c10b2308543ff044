// Alone: its transactions are given up after a time.
import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import { openSchools, transact } from './schools.ts';
import { connectHost } from './host-knex.ts';

onEachDatabase(
  "in a transaction, the busy timeout is the one of the host's connection",
  async (t, database, address) => {
    const { storage } = await openSchools(t, database, address);
    const inside = await transact(storage, async (transaction) => transaction.raw('pragma busy_timeout'));
    // Knex's default. Outside of transactions the storage sets it to 0.
    t.deepEqual(inside, [{ timeout: 5000 }]);
  },
  [sqlite],
);

onEachDatabase(
  'a transaction on SQLite may read first and write later while other connections write',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const other = knexStorage(address);
    t.teardown(async () => other.close());
    // Two storages, so that SQLite itself serializes them.
    await Promise.all(
      Array.from({ length: 15 }, async () =>
        Promise.all([countAndAdd(storage, 'a'), countAndAdd(other, 'b')]),
      ),
    );
    t.deepEqual(
      (await names()).map((name) => Number.parseInt(name, 10)),
      Array.from({ length: 30 }, (_, index) => index),
    );
  },
  [sqlite],
);

onEachDatabase(
  'a transaction on a locked SQLite file waits and rejects after the timeout',
  async (t, database, address) => {
    const { storage, host, names } = await openSchools(t, database, address, { timeout: 100 });
    const other = connectHost('better-sqlite3', address);
    t.teardown(async () => other.destroy());
    await other.raw('begin immediate');
    let runs = 0;
    const count = async () => {
      runs += 1;
    };
    const error = await t.throwsAsync(transact(storage, count), { code: 'ERR_STORAGE' });
    t.is(
      error?.message,
      'The database stayed locked by another connection for 100 ms. Nothing was changed; try again.',
    );
    t.is(runs, 0);
    const waiting = transact(knexStorage(host), async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
    });
    await delay(50);
    await other.raw('rollback');
    await waiting;
    t.deepEqual(await names(), ['Hill']);
  },
  [sqlite],
);

/** Adds a school named after the number of schools. */
async function countAndAdd(storage: Storage, suffix: string): Promise<void> {
  await transact(storage, async (transaction) => {
    const count = (await transaction('schools').select()).length;
    await delay(1);
    await transaction('schools').insert({ name: `${String(count).padStart(2, '0')}${suffix}` });
  });
}
