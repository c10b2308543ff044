// Alone: it counts turns of the event loop.
import { EventEmitter } from 'node:events';
import { setImmediate as nextTurn } from 'node:timers/promises';

import test from 'ava';
import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { KeptConnections } from '../../adapters/knex/kept-connections.ts';
import { mariadb, postgresql } from './databases.ts';

/** A pool of one connection, which counts how often it was acquired. */
function poolOfOne() {
  const connection = new EventEmitter();
  const waiting: ((connection: EventEmitter) => void)[] = [];
  const pool = {
    acquired: 0,
    isFree: true,
    failure: undefined as Error | undefined,
    async acquireConnection(): Promise<EventEmitter> {
      if (pool.failure) throw pool.failure;
      if (!pool.isFree) return new Promise((resolve) => waiting.push(resolve));
      pool.isFree = false;
      pool.acquired += 1;
      return connection;
    },
    async releaseConnection() {
      const next = waiting.shift();
      if (next) pool.acquired += 1;
      else pool.isFree = true;
      next?.(connection);
    },
  };
  return { pool, connection };
}

test('a connection serves the calls that wait, and the next one in the same turn, and then returns to the pool', async (t) => {
  const { pool } = poolOfOne();
  const kept = new KeptConnections(pool, { isShared: true, most: 1 });
  const order: number[] = [];
  await Promise.all(
    [1, 2, 3].map(async (call) => {
      const connection = await kept.acquireConnection();
      order.push(call);
      await kept.releaseConnection(connection);
    }),
  );
  t.deepEqual(order, [1, 2, 3]);
  const next = kept.acquireIfFree();
  t.truthy(next);
  await kept.releaseConnection(next!);
  t.is(pool.acquired, 1);
  await nextTurn();
  t.true(pool.isFree);
  t.is(kept.acquireIfFree(), undefined);
});

test('a connection that ends while it is free, and one that failed, return to the pool, which checks them', async (t) => {
  const { pool, connection } = poolOfOne();
  const kept = new KeptConnections(pool, { isShared: false, most: 1 });
  for (const event of ['end', 'error']) {
    await kept.releaseConnection(await kept.acquireConnection());
    connection.emit(event);
    t.is(kept.acquireIfFree(), undefined, event);
    t.true(pool.isFree, event);
  }
  await kept.discardConnection(await kept.acquireConnection());
  t.true(pool.isFree);
});

test('when the pool gives no connection, the call that waits fails with its error, and later ones are served', async (t) => {
  const { pool } = poolOfOne();
  const kept = new KeptConnections(pool, { isShared: true, most: 1 });
  pool.failure = new Error('unreachable');
  await t.throwsAsync(kept.acquireConnection(), { message: 'unreachable' });
  pool.failure = undefined;
  await kept.releaseConnection(await kept.acquireConnection());
  t.is(pool.acquired, 1);
});

for (const { name, client, register, cleared } of [postgresql, mariadb]) {
  register(
    `${name}: calls without a pause leave the host its turns on a pool of one connection`,
    async (t) => {
      const host = knex({ client, connection: await cleared(), pool: { min: 0, max: 1 } });
      const storage = knexStorage(host);
      await storage.migrate();
      const over = new AbortController();
      const calling = Promise.all(
        Array.from({ length: 4 }, async () => {
          while (!over.signal.aborted) await storage.revocations.latestSequence();
        }),
      );
      for (let query = 0; query < 5; query += 1) await host.raw('select 1');
      over.abort();
      await calling;
      t.pass('the host was not kept waiting for ever');
      await host.destroy();
    },
  );
}
