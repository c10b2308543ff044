import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken } from '../../lib/testing/storage/rows.ts';
import { until } from '../harness/until.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { freezingProxy } from './freezing-proxy.ts';

onEachDatabase(
  'calls to a server that stops answering reject in time, and work when it answers again',
  async (t, _database, address) => {
    const proxy = await freezingProxy(address);
    const storage = knexStorage(proxy.address, { timeout: '1 second' });
    t.teardown(async () => {
      proxy.close();
      await storage.close();
    });
    await storage.migrate();
    await storage.grants.insert(aGrant(), aCode());
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

    proxy.freeze();
    const startedAt = performance.now();
    const calls = await Promise.allSettled([
      storage.grants.redeem(aCode(), exchange),
      // More than the connections of the pool, so that some are not even opened.
      ...Array.from({ length: 20 }, async () => storage.grants.findCredential('code', aCode().id)),
    ]);
    // One after another, they would take 21 seconds.
    t.true(performance.now() - startedAt < 10_000);
    for (const call of calls) {
      t.like(call, { status: 'rejected', reason: { code: 'ERR_STORAGE', status: 503 } });
    }

    proxy.thaw();
    // The pool gives up the connections that it was opening.
    await until(async () =>
      storage.grants.findCredential('code', aCode().id).then(
        (found) => found !== undefined,
        () => false,
      ),
    );
    t.deepEqual((await storage.grants.findCredential('code', aCode().id))?.credential, aCode());
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
  },
  [postgresql, mariadb],
);
