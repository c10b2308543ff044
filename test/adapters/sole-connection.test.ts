import test from 'ava';

import { acquireConnection } from '../../adapters/knex/bounded-waits.ts';
import { SoleConnection } from '../../adapters/knex/sole-connection.ts';

function pool() {
  const acquired: string[] = [];
  const released: string[] = [];
  return {
    acquired,
    released,
    async acquireConnection() {
      acquired.push('connection');
      return 'connection';
    },
    async releaseConnection(connection: string) {
      released.push(connection);
    },
  };
}

test('the connection is acquired once, and given to callers in the order of their calls', async (t) => {
  const underneath = pool();
  const sole = new SoleConnection(underneath);
  t.is(sole.acquireIfFree(), undefined);
  await sole.acquireConnection();
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    await sole.acquireConnection();
    order.push(number);
    t.is(sole.acquireIfFree(), undefined);
    sole.releaseConnection();
  });
  sole.releaseConnection();
  t.is(sole.acquireIfFree(), undefined);
  await Promise.all(waiting);
  t.deepEqual(order, [1, 2, 3]);
  t.is(sole.acquireIfFree(), 'connection');
  t.deepEqual(underneath.acquired, ['connection']);
});

test('a caller that times out does not block the next one', async (t) => {
  const sole = new SoleConnection(pool());
  await sole.acquireConnection();
  await t.throwsAsync(acquireConnection(sole, 1));
  sole.releaseConnection();
  t.is(await sole.acquireConnection(), 'connection');
});

test('a connection that could not be opened is acquired again', async (t) => {
  const underneath = pool();
  let isBroken = true;
  const sole = new SoleConnection({
    ...underneath,
    async acquireConnection() {
      if (isBroken) throw new Error('no such file');
      return underneath.acquireConnection();
    },
  });
  const both = await Promise.allSettled([sole.acquireConnection(), sole.acquireConnection()]);
  t.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  isBroken = false;
  t.is(await sole.acquireConnection(), 'connection');
});

test('the connection is released to the pool when no caller uses it', async (t) => {
  const underneath = pool();
  const sole = new SoleConnection(underneath);
  await sole.returnToPool();
  t.deepEqual(underneath.released, []);
  await sole.acquireConnection();
  const giving = sole.returnToPool();
  t.deepEqual(underneath.released, []);
  sole.releaseConnection();
  await giving;
  t.deepEqual(underneath.released, ['connection']);
  t.is(sole.acquireIfFree(), undefined);
});
