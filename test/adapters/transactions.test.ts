import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aRequest, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import { openSchools, transact } from './schools.ts';
import { connectHost } from './host-knex.ts';

onEachDatabase(
  'the changes of a transaction are committed when its work resolves, and not visible before',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const result = await transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      await transaction('schools').insert({ name: 'Lake' });
      t.deepEqual(await names(), []);
      return transaction('schools').pluck('name').orderBy('name');
    });
    t.deepEqual(result, ['Hill', 'Lake']);
    t.deepEqual(await names(), ['Hill', 'Lake']);
  },
);

onEachDatabase('when the work throws, its changes are rolled back', async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address);
  const failure = new TypeError('rolled back');
  const failing = transact(storage, async (transaction) => {
    await transaction('schools').insert({ name: 'Hill' });
    throw failure;
  });
  t.is(await t.throwsAsync(failing), failure);
  t.deepEqual(await names(), []);
});

onEachDatabase("an error of the work's own statement is thrown unchanged", async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address);
  const failing = transact(storage, async (transaction) => {
    await transaction('schools').insert({ name: 'Hill' });
    await transaction('schools').insert({ name: 'Hill' });
  });
  const codes = { 'better-sqlite3': 'SQLITE_CONSTRAINT_PRIMARYKEY', pg: '23505', mysql2: 'ER_DUP_ENTRY' };
  await t.throwsAsync(failing, { code: codes[database.client] });
  t.deepEqual(await names(), []);
});

onEachDatabase(
  'work may roll back a nested transaction after a failed statement and go on',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    await transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      const nested = transaction.transaction(async (inner) => {
        await inner('schools').insert({ name: 'Lake' });
        await inner('schools').insert({ name: 'Hill' });
      });
      await t.throwsAsync(nested);
    });
    t.deepEqual(await names(), ['Hill']);
  },
);

onEachDatabase('after a transaction the connection has its former settings', async (t, database, address) => {
  const host = connectHost(database.client, address, { min: 0, max: 1 });
  const { storage, names } = await openSchools(t, database, address, { host });
  const busy = database === sqlite ? await host.raw('pragma busy_timeout') : undefined;
  const transactionIds: unknown[] = [];
  host.on('query', ({ __knexTxId: id }: { __knexTxId?: string }) => transactionIds.push(id));
  for (const name of ['Hill', 'Hill', 'Lake']) {
    await transact(storage, async (transaction) => transaction('schools').insert({ name })).catch(() => {});
    transactionIds.length = 0;
    await host('schools').select();
    t.deepEqual(transactionIds, [undefined], 'statements outside have no transaction id');
    await storage.clients.find('unknown');
  }
  t.deepEqual(await names(), ['Hill', 'Lake']);
  if (busy) t.deepEqual(await host.raw('pragma busy_timeout'), busy);
});

onEachDatabase('more concurrent transactions than connections all complete', async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address);
  const numbers = Array.from({ length: 40 }, (_, index) => String(index).padStart(2, '0'));
  const ended = await Promise.allSettled(
    numbers.map(async (name) =>
      transact(storage, async (transaction) => {
        await transaction('schools').insert({ name });
        if (Number(name) % 2 === 1) throw new Error('odd');
      }),
    ),
  );
  t.is(ended.filter(({ status }) => status === 'fulfilled').length, 20);
  t.deepEqual(
    await names(),
    numbers.filter((name) => Number(name) % 2 === 0),
  );
});

onEachDatabase(
  'if no connection becomes free in time, the transaction rejects and the work is not run',
  async (t, database, address) => {
    const host = connectHost(database.client, address, { min: 0, max: 1 });
    const { storage, names } = await openSchools(t, database, address, { host, timeout: 100 });
    let runs = 0;
    await transact(storage, async (transaction) => {
      const late = transact(storage, async () => {
        runs += 1;
      });
      const error = await t.throwsAsync(late, { code: 'ERR_STORAGE' });
      t.regex(error?.message ?? '', /^No database connection became free within 100 ms\./);
      await t.throwsAsync(storage.clients.insert(aClient(), []), { code: 'ERR_STORAGE' });
      await transaction('schools').insert({ name: 'Hill' });
    });
    t.is(runs, 0);
    t.deepEqual(await names(), ['Hill']);
    await storage.clients.insert(aClient(), []);
  },
);

onEachDatabase('a transaction may take longer than the timeout of a call', async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address, { timeout: 200 });
  await transact(storage, async (transaction) => {
    for (const name of ['Hill', 'Lake', 'Park']) {
      await transaction('schools').insert({ name });
      await delay(150);
    }
  });
  t.deepEqual(await names(), ['Hill', 'Lake', 'Park']);
});

onEachDatabase(
  'before migrate(), a host can use transactions on a server',
  async (t, { client }, address) => {
    const host = connectHost(client, address);
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    const transaction = storage.transaction(async () => 'done');
    if (client === 'better-sqlite3') await t.throwsAsync(transaction, { code: 'ERR_MIGRATIONS_PENDING' });
    else t.is(await transaction, 'done');
  },
);

onEachDatabase(
  'idempotency.finish() rejects in a transaction that has ended, however it ended',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const { idempotency } = storage;
    await idempotency.begin(aRequest(), NOW);
    const answer = { status: 201, body: '{}' };
    const hasEnded = { code: 'ERR_STORAGE', message: /or it has ended/ };
    const given: Knex.Transaction[] = [];

    await transact(storage, async (transaction) => {
      given.push(transaction);
      await transaction('schools').insert({ name: 'Hill' });
      await transaction.commit();
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), hasEnded, 'committed');
    });
    const undone = transact(storage, async (transaction) => {
      given.push(transaction);
      await transaction('schools').insert({ name: 'Lake' });
      await transaction.rollback();
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), hasEnded, 'rolled back');
    });
    await undone;
    const failed = transact(storage, async (transaction) => {
      given.push(transaction);
      throw new Error('it broke');
    });
    await t.throwsAsync(failed, { message: 'it broke' });

    t.is(given.length, 3);
    for (const transaction of given) {
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), hasEnded, 'afterwards');
    }
    t.is((await idempotency.begin(aRequest({ attempt: 'another' }), NOW))?.answer, undefined);
    t.deepEqual(await names(), ['Hill']);
  },
);
