import test from 'ava';

import { acquireConnection } from '../../adapters/knex/bounded-waits.ts';
import { SoleConnection } from '../../adapters/knex/sole-connection.ts';

function pool() {
  const lent: string[] = [];
  const given: string[] = [];
  return {
    lent,
    given,
    async acquireConnection() {
      lent.push('connection');
      return 'connection';
    },
    async releaseConnection(connection: string) {
      given.push(connection);
    },
  };
}

test('the connection is taken once, and lent to one after the other in the order in which they asked', async (t) => {
  const underneath = pool();
  const sole = new SoleConnection(underneath);
  t.is(sole.acquireIfFree(), undefined);
  await sole.acquireConnection();
  const order: number[] = [];
  const waiting = [1, 2, 3].map(async (number) => {
    await sole.acquireConnection();
    order.push(number);
    t.is(sole.acquireIfFree(), undefined);
    await sole.releaseConnection();
  });
  await sole.releaseConnection();
  t.is(sole.acquireIfFree(), undefined);
  await Promise.all(waiting);
  t.deepEqual(order, [1, 2, 3]);
  t.is(sole.acquireIfFree(), 'connection');
  t.deepEqual(underneath.lent, ['connection']);
});

test('who stops waiting keeps it from nobody', async (t) => {
  const sole = new SoleConnection(pool());
  await sole.acquireConnection();
  await t.throwsAsync(acquireConnection(sole, 1));
  await sole.releaseConnection();
  t.is(await sole.acquireConnection(), 'connection');
});

test('a connection that could not be opened is asked for again', async (t) => {
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

test('it is given back when nobody uses it', async (t) => {
  const underneath = pool();
  const sole = new SoleConnection(underneath);
  await sole.returnToPool();
  t.deepEqual(underneath.given, []);
  await sole.acquireConnection();
  const giving = sole.returnToPool();
  t.deepEqual(underneath.given, []);
  await sole.releaseConnection();
  await giving;
  t.deepEqual(underneath.given, ['connection']);
  t.is(sole.acquireIfFree(), undefined);
});
