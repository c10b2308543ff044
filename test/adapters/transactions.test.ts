import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aRequest, NOW } from '../../lib/testing/storage/rows.ts';
import { onEachDatabase, sqlite } from './databases.ts';
import { connectHost, openSchools, transact } from './schools.ts';

onEachDatabase('what the work does is done when it ends, and not before', async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address);
  const result = await transact(storage, async (transaction) => {
    await transaction('schools').insert({ name: 'Hill' });
    await transaction('schools').insert({ name: 'Lake' });
    t.deepEqual(await names(), []);
    return transaction('schools').pluck('name').orderBy('name');
  });
  t.deepEqual(result, ['Hill', 'Lake']);
  t.deepEqual(await names(), ['Hill', 'Lake']);
});

onEachDatabase('work that throws has done nothing', async (t, database, address) => {
  const { storage, names } = await openSchools(t, database, address);
  const mistake = new TypeError('changed my mind');
  const failing = transact(storage, async (transaction) => {
    await transaction('schools').insert({ name: 'Hill' });
    throw mistake;
  });
  t.is(await t.throwsAsync(failing), mistake);
  t.deepEqual(await names(), []);
});

onEachDatabase("an error of the work's own statement comes out as it is", async (t, database, address) => {
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
  'work that goes on after a failed statement may undo a part of it',
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

onEachDatabase('the connection goes back as it was', async (t, database, address) => {
  const host = connectHost(database.client, address, { min: 0, max: 1 });
  const { storage, names } = await openSchools(t, database, address, { host });
  const busy = database === sqlite ? await host.raw('pragma busy_timeout') : undefined;
  const transactionIds: unknown[] = [];
  host.on('query', ({ __knexTxId: id }: { __knexTxId?: string }) => transactionIds.push(id));
  for (const name of ['Hill', 'Hill', 'Lake']) {
    await transact(storage, async (transaction) => transaction('schools').insert({ name })).catch(() => {});
    transactionIds.length = 0;
    await host('schools').select();
    t.deepEqual(transactionIds, [undefined], 'statements outside are not taken for those of the transaction');
    await storage.clients.find('unknown');
  }
  t.deepEqual(await names(), ['Hill', 'Lake']);
  if (busy) t.deepEqual(await host.raw('pragma busy_timeout'), busy);
});

onEachDatabase('transactions at once, more than there are connections', async (t, database, address) => {
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
  'who waits for a connection too long gets an error, and the work is not run',
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

onEachDatabase('work that takes longer than a call may is not disturbed', async (t, database, address) => {
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
  'before migrate(), the host can use transactions on a server',
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
  'a transaction that its host has ended keeps no answer any more, however it ended',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const { idempotency } = storage;
    await idempotency.begin(aRequest(), NOW);
    const answer = { status: 201, body: '{}' };
    const isOver = { code: 'ERR_STORAGE', message: /or it has ended/ };
    const handed: Knex.Transaction[] = [];

    await transact(storage, async (transaction) => {
      handed.push(transaction);
      await transaction('schools').insert({ name: 'Hill' });
      await transaction.commit();
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), isOver, 'committed');
    });
    const undone = transact(storage, async (transaction) => {
      handed.push(transaction);
      await transaction('schools').insert({ name: 'Lake' });
      await transaction.rollback();
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), isOver, 'rolled back');
    });
    await undone;
    const failed = transact(storage, async (transaction) => {
      handed.push(transaction);
      throw new Error('it broke');
    });
    await t.throwsAsync(failed, { message: 'it broke' });

    t.is(handed.length, 3);
    for (const transaction of handed) {
      await t.throwsAsync(idempotency.finish(aRequest(), answer, transaction), isOver, 'afterwards');
    }
    t.is((await idempotency.begin(aRequest({ attempt: 'another' }), NOW))?.answer, undefined);
    t.deepEqual(await names(), ['Hill']);
  },
);
