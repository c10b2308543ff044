import { setTimeout as delay } from 'node:timers/promises';

import { StorageError } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aClient, aCode, aGrant, aRefreshToken } from '../../storage/rows.ts';
import { until } from '../../harness/until.ts';
import { endWith } from '../../harness/serve.ts';
import { mariadb, onEachDatabase, postgresql } from '../../adapters/databases.ts';
import { startDatabaseProxy } from '../../adapters/database-proxy.ts';
import { openSchools, transact } from '../../adapters/schools.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { watchedKnex } from '../../adapters/watched-knex.ts';

onEachDatabase(
  'if BEGIN fails, the work is not run; if COMMIT fails, nothing is changed',
  async (t, database, address) => {
    let broken: { readonly statement: RegExp; readonly error: Error } | undefined;
    const host = watchedKnex(database.client, address, (sql) => {
      if (broken?.statement.test(sql)) throw broken.error;
    });
    const { storage, names } = await openSchools(t, database, address, { host, timeout: 1000 });
    let runs = 0;
    for (const [statement, error, expected] of [
      [/^begin/i, new Error('the connection is lost'), 0],
      // After this error, a call of the storage itself would be tried again.
      [/^commit/i, Object.assign(new Error('locked'), { code: 'SQLITE_BUSY' }), 1],
    ] as const) {
      broken = { statement, error };
      runs = 0;
      const failing = transact(storage, async (transaction) => {
        runs += 1;
        await transaction('schools').insert({ name: 'Hill' });
      });
      await t.throwsAsync(failing, { code: 'ERR_STORAGE' }, String(statement));
      await delay(20);
      t.is(runs, expected);
      broken = undefined;
      t.deepEqual(await names(), []);
    }
    await transact(storage, async (transaction) => transaction('schools').insert({ name: 'Lake' }));
    await storage.clients.insert(aClient(), []);
    t.deepEqual(await names(), ['Lake']);
  },
);

onEachDatabase(
  'if BEGIN is answered after the timeout, the work is not run',
  async (t, { client }, address) => {
    const timeout = 100;
    const host = connectHost(client, address, {
      afterCreate(connection: { query(...given: unknown[]): unknown }, done: () => void) {
        const send = connection.query.bind(connection);
        connection.query = (statement, ...rest) => {
          const answer = rest.at(-1) as (...answered: unknown[]) => void;
          const answerLate = (...answered: unknown[]) => void setTimeout(answer, timeout + 1500, ...answered);
          return send(
            statement,
            ...(/BEGIN/.test(JSON.stringify(statement)) ? [...rest.slice(0, -1), answerLate] : rest),
          );
        };
        done();
      },
    });
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host, { timeout: `${timeout} ms` });
    // Connecting may take longer than the timeout of the transaction.
    await host.raw('select 1');
    let runs = 0;
    const failing = transact(storage, async () => {
      runs += 1;
    });
    await t.throwsAsync(failing, { code: 'ERR_STORAGE', message: /did not answer within 100 ms/ });
    await delay(1000);
    t.is(runs, 0);
  },
  [postgresql],
);

onEachDatabase(
  'a deferred constraint that fails at COMMIT is a StorageError',
  async (t, database, address) => {
    const { storage, host, names } = await openSchools(t, database, address);
    await host.raw(
      'create table pupils (school varchar(255) references schools (name) deferrable initially deferred)',
    );
    const failing = transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      await transaction('pupils').insert({ school: 'Lake' });
    });
    const error = await t.throwsAsync(failing, { code: 'ERR_STORAGE' });
    t.like(error?.cause, { code: '23503' });
    t.deepEqual(await names(), []);
  },
  [postgresql],
);

onEachDatabase(
  'the server ends work that idles too long on a connection opened by the storage',
  async (t, database, address) => {
    const { names } = await openSchools(t, database, address);
    const storage = knexStorage(address, { timeout: '1 second' });
    t.teardown(async () => storage.close());
    for (const continues of [true, false]) {
      await connected(storage);
      const failing = transact(storage, async (transaction) => {
        await transaction('schools').insert({ name: 'Hill' });
        await delay(2500);
        if (continues) await transaction('schools').insert({ name: 'Lake' });
      });
      await t.throwsAsync(failing, continues ? { message: /schools/ } : { code: 'ERR_STORAGE' });
    }
    t.deepEqual(await names(), []);
    await connected(storage);
    await storage.clients.insert(aClient(), []);
    await transact(storage, async (transaction) => transaction('schools').insert({ name: 'Hill' }));
    t.deepEqual(await names(), ['Hill']);
  },
  [postgresql, mariadb],
);

onEachDatabase(
  'if the server stops answering, transactions and calls reject in time, and work when it answers again',
  async (t, database, address) => {
    const { names } = await openSchools(t, database, address);
    const proxy = await startDatabaseProxy(address);
    const storage = knexStorage(proxy.address, { timeout: '1 second' });
    t.teardown(async () => storage.close());
    endWith(t, proxy);
    await connected(storage);
    await storage.grants.insert(aGrant(), aCode());
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

    const startedAt = performance.now();
    const silenced = transact(storage, async (transaction) => {
      await transaction('schools').insert({ name: 'Hill' });
      proxy.freeze();
    });
    await t.throwsAsync(silenced, {
      code: 'ERR_STORAGE',
      message: 'The database did not answer within 1000 ms. It is not known whether anything was changed.',
    });
    let runs = 0;
    const calls = await Promise.allSettled([
      transact(storage, async () => (runs += 1)),
      storage.grants.redeem(aCode(), exchange),
      // More than the connections of the pool, so that some are not even opened.
      ...Array.from({ length: 20 }, async () => storage.grants.findCredential('code', aCode().id)),
    ]);
    // One after another, they would take 23 seconds.
    t.true(performance.now() - startedAt < 15_000);
    for (const call of calls) {
      t.like(call, { status: 'rejected', reason: { code: 'ERR_STORAGE', status: 503 } });
    }
    t.is(runs, 0);

    proxy.thaw();
    // The pool gives up the connections that it was opening.
    await until(async () =>
      storage.grants.findCredential('code', aCode().id).then(
        (found) => found !== undefined,
        () => false,
      ),
    );
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
    t.deepEqual(await names(), []);
  },
  [postgresql, mariadb],
);

/**
 * Waits until a storage with a short timeout has a connection: on a loaded machine, opening one may take longer than the
 * timeout.
 */
async function connected(storage: Storage): Promise<void> {
  await until(async () =>
    storage.clients.find('unknown').then(
      () => true,
      (error: unknown) => {
        if (!(error instanceof StorageError)) throw error;
        return false;
      },
    ),
  );
}
