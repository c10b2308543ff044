import { EventEmitter } from 'node:events';

import test from 'ava';

import { KeptConnections } from '../../adapters/knex/kept-connections.ts';

test('a connection that ends while it is free, and one that failed, return to the pool, which checks them', async (t) => {
  const connection = new EventEmitter();
  let isFree = true;
  const kept = new KeptConnections(
    {
      async acquireConnection() {
        isFree = false;
        return connection;
      },
      async releaseConnection() {
        isFree = true;
      },
    },
    { isShared: false, most: 1 },
  );
  for (const event of ['end', 'error']) {
    await kept.releaseConnection(await kept.acquireConnection());
    connection.emit(event);
    t.is(kept.acquireIfFree(), undefined, event);
    t.true(isFree, event);
  }
  await kept.discardConnection(await kept.acquireConnection());
  t.true(isFree);
});
