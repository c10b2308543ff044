import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aRequest, NOW } from '../storage/rows.ts';
import { mariadb, onEachDatabase, onEachEmptyDatabase, postgresql, sqlite } from './databases.ts';
import { connectHost, openHost, SOLE } from './host-knex.ts';
import { openSchools, transact } from './schools.ts';

onEachDatabase(
  'a transaction is committed when its work resolves, however long that takes, without what a nested one has rolled back',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address, { timeout: 1000 });
    const result = await transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      const nested = transaction.transaction(async (inner) => {
        await inner('schools').insert({ name: 'Park' });
        await inner('schools').insert({ name: 'Hill' });
      });
      await t.throwsAsync(nested);
      // A transaction may take longer than the timeout of a call.
      await delay(1100);
      await transaction('schools').insert({ name: 'Lake' });
      t.deepEqual(await names(), [], 'not visible before');
      return transaction('schools').pluck('name').orderBy('name');
    });
    t.deepEqual(result, ['Hill', 'Lake']);
    t.deepEqual(await names(), ['Hill', 'Lake']);
  },
);

onEachDatabase(
  'an error of the work or of its own statement rolls back, and is thrown unchanged',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const failure = new TypeError('rolled back');
    const failing = transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      throw failure;
    });
    t.is(await t.throwsAsync(failing), failure);
    const twice = transact(storage, async (transaction) => {
      for (const name of ['Lake', 'Lake']) await transaction('schools').insert({ name });
    });
    const codes = { 'better-sqlite3': 'SQLITE_CONSTRAINT_PRIMARYKEY', pg: '23505', mysql2: 'ER_DUP_ENTRY' };
    await t.throwsAsync(twice, { code: codes[database.client] });
    t.deepEqual(await names(), []);
  },
);

onEachDatabase('after a transaction the connection has its former settings', async (t, database, address) => {
  const host = connectHost(database.client, address, SOLE);
  const { storage, names } = await openSchools(t, database, address, { host });
  const busyTimeout = async (connection = host): Promise<unknown> =>
    database === sqlite && connection.raw('pragma busy_timeout');
  const before = await busyTimeout();
  const transactionIds: unknown[] = [];
  host.on('query', ({ __knexTxId: id }: { __knexTxId?: string }) => transactionIds.push(id));
  for (const name of ['Hill', 'Hill', 'Lake']) {
    await transact(storage, async (transaction) => {
      t.deepEqual(await busyTimeout(transaction), before, 'inside, too');
      await transaction('schools').insert({ name });
    }).catch(() => {});
    transactionIds.length = 0;
    await host('schools').select();
    t.deepEqual(transactionIds, [undefined], 'statements outside have no transaction id');
    await storage.clients.find('unknown');
  }
  t.deepEqual(await names(), ['Hill', 'Lake']);
  t.deepEqual(await busyTimeout(), before);
});

onEachDatabase(
  'if no connection becomes free in time, the transaction rejects and the work is not run',
  async (t, database, address) => {
    const host = connectHost(database.client, address, SOLE);
    const { storage, names } = await openSchools(t, database, address, { host, timeout: 1000 });
    let runs = 0;
    await transact(storage, async (transaction) => {
      const late = transact(storage, async () => {
        runs += 1;
      });
      await t.throwsAsync(late, {
        code: 'ERR_STORAGE',
        message: /^No database connection became free within 1000 ms\./,
      });
      await t.throwsAsync(storage.clients.insert(aClient(), []), { code: 'ERR_STORAGE' });
      await transaction('schools').insert({ name: 'Hill' });
    });
    t.is(runs, 0);
    t.deepEqual(await names(), ['Hill']);
    await storage.clients.insert(aClient(), []);
  },
);

onEachEmptyDatabase(
  'before migrate(), a host can use transactions on a server',
  async (t, { client }, address) => {
    const host = openHost(t, client, address);
    const transaction = knexStorage(host).transaction(async () => 'done');
    if (client === 'better-sqlite3') await t.throwsAsync(transaction, { code: 'ERR_MIGRATIONS_PENDING' });
    else t.is(await transaction, 'done');
  },
);

onEachDatabase(
  'idempotency.finish() rejects in a transaction that its work has ended',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    await storage.idempotency.begin(aRequest(), NOW);
    for (const [name, end] of [
      ['Hill', 'commit'],
      ['Lake', 'rollback'],
    ] as const) {
      await transact(storage, async (transaction) => {
        await transaction('schools').insert({ name });
        await transaction[end]();
        await t.throwsAsync(
          storage.idempotency.finish(aRequest(), { status: 201, body: '{}' }, transaction),
          {
            code: 'ERR_STORAGE',
            message: /or it has ended/,
          },
        );
      });
    }
    t.is((await storage.idempotency.begin(aRequest({ attempt: 'another' }), NOW))?.answer, undefined);
    t.deepEqual(await names(), ['Hill']);
  },
);

/** Work that goes on after the error of a statement. */
async function goOn(transaction: Knex.Transaction): Promise<string> {
  await transaction('schools').insert({ name: 'Hill' });
  await transaction('schools')
    .insert({ name: 'Hill' })
    .catch(() => {});
  return 'done';
}

onEachDatabase(
  'work that catches the error of a statement is committed, or rejects: on PostgreSQL, which has rolled it back',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const own = knexStorage(address);
    t.teardown(async () => own.close());
    for (const [index, one] of [storage, own].entries()) {
      if (database === postgresql) {
        for (const work of [
          goOn,
          async (transaction: Knex.Transaction) => {
            await goOn(transaction);
            await transaction.commit().catch(() => {});
            return 'done';
          },
        ])
          await t.throwsAsync(transact(one, work), { code: 'ERR_STORAGE', message: ROLLED_BACK });
        t.deepEqual(await names(), []);
      } else {
        t.is(await transact(one, goOn), 'done');
        t.deepEqual(await names(), ['Hill']);
        await transact(one, async (transaction) => transaction('schools').delete());
      }
      const name = `Lake ${index}`;
      await transact(one, async (transaction) => {
        await transaction('schools').insert({ name });
        // What may fail is in a transaction of its own within the transaction.
        await transaction.transaction(async (inner) => inner('schools').insert({ name })).catch(() => {});
      });
      t.true((await names()).includes(name), 'the next transaction, with a savepoint');
      await transact(one, async (transaction) => transaction('schools').delete());
    }
  },
);

const ROLLED_BACK =
  'The database rolled the transaction back, because a statement in it had failed. Nothing was changed. Let the error of the statement end the transaction, or run the statement in a nested transaction.';

onEachDatabase(
  'an answer whose transaction was rolled back is not stored, whatever its work has caught',
  async (t, database, address) => {
    const { storage, names } = await openSchools(t, database, address);
    const answer = { status: 201, body: '{}' };
    await storage.idempotency.begin(aRequest(), NOW);
    const answering = transact(storage, async (transaction) => {
      await storage.idempotency.finish(aRequest(), answer, transaction);
      return goOn(transaction);
    });
    const isRolledBack = database === postgresql;
    if (isRolledBack) {
      const late = transact(storage, async (transaction) => {
        await goOn(transaction);
        await storage.idempotency.finish(aRequest(), answer, transaction);
      });
      await t.throwsAsync(late, { code: 'ERR_STORAGE', message: ROLLED_BACK });
    }
    if (isRolledBack) await t.throwsAsync(answering, { code: 'ERR_STORAGE', message: ROLLED_BACK });
    else await answering;
    const later = await storage.idempotency.begin(aRequest({ attempt: 'another' }), NOW);
    t.deepEqual(later?.answer, isRolledBack ? undefined : answer);
    t.deepEqual(await names(), isRolledBack ? [] : ['Hill']);
  },
);

onEachDatabase(
  'work that catches the error of a deadlock, at which the server has rolled back all before it, rejects',
  async (t, database, address) => {
    const { storage, host, names } = await openSchools(t, database, address);
    await host('schools').insert([{ name: 'Hill' }, { name: 'Lake' }]);
    const heavier = await host.transaction();
    t.teardown(async () => heavier.rollback());
    // The server ends the transaction that has changed fewer rows.
    for (let index = 0; index < 20; index += 1) await heavier('schools').insert({ name: `Fen ${index}` });
    await lock(heavier, 'Lake');
    const failing = transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Park' });
      await lock(transaction, 'Hill');
      const waiting = t.throwsAsync(lock(transaction, 'Lake'), { code: 'ER_LOCK_DEADLOCK' });
      await lock(heavier, 'Hill');
      await waiting;
      await transaction('schools').insert({ name: 'Pond' });
    });
    await t.throwsAsync(failing, {
      code: 'ERR_STORAGE',
      message:
        'The server rolled the transaction back at a deadlock, and committed each later statement of its work on its own. Let the error of a deadlock end the transaction.',
    });
    await heavier.rollback();
    t.deepEqual(await names(), ['Hill', 'Lake', 'Pond']);
  },
  [mariadb],
);

async function lock(by: Knex, name: string): Promise<unknown> {
  return by('schools').where({ name }).forUpdate();
}
