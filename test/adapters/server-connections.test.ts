import { randomBytes } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import knex from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aRefreshToken, NOW } from '../storage/rows.ts';
import { until } from '../harness/until.ts';
import { mariadb, onEachDatabase, onEachEmptyDatabase, postgresql } from './databases.ts';
import { openHost, SOLE } from './host-knex.ts';

const SERVERS = [postgresql, mariadb];
const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };

onEachDatabase(
  'if no connection of the pool becomes free, calls reject within the timeout and work afterwards',
  async (t, { client }, address) => {
    const host = openHost(t, client, address, SOLE);
    const storage = knexStorage(host, { timeout: '1 second' });
    await storage.migrate();
    await storage.grants.insert(aGrant(), aCode());

    const taken = await host.client.acquireConnection();
    const startedAt = performance.now();
    const calls = await Promise.allSettled(
      Array.from({ length: 20 }, async () => storage.grants.redeem(aCode(), exchange)),
    );
    // One after another, they would take twenty seconds.
    t.true(performance.now() - startedAt < 10_000);
    for (const call of calls) {
      t.like(call, {
        status: 'rejected',
        reason: {
          code: 'ERR_STORAGE',
          message:
            'No database connection became free within 1000 ms. Make the pool larger, or end the transactions that hold its connections.',
        },
      });
    }
    await host.client.releaseConnection(taken);

    const later = await Promise.all(
      Array.from({ length: 5 }, async () => storage.grants.redeem(aCode(), exchange)),
    );
    t.is(later.filter(({ outcome }) => outcome === 'redeemed').length, 1);
  },
  SERVERS,
);

const ONE_CONNECTION = {
  'better-sqlite3': [],
  pg: [`create role USER login password 'geheim' connection limit 1`, 'grant all on schema public to USER'],
  mysql2: [
    `create user USER@'%' identified by 'geheim' with max_user_connections 1`,
    `grant all on *.* to USER@'%'`,
  ],
} as const;

const REMOVE_USER = {
  'better-sqlite3': [],
  pg: ['drop owned by USER', 'drop role USER'],
  mysql2: [`drop user USER@'%'`],
} as const;

onEachEmptyDatabase(
  "at the server's connection limit, a call waits and rejects after the timeout",
  async (t, { client }, address) => {
    const admin = knex({ client, connection: address });
    const user = `gatehouse_test_${randomBytes(6).toString('hex')}`;
    for (const sql of ONE_CONNECTION[client]) await admin.raw(sql.replaceAll('USER', user));
    t.teardown(async () => {
      for (const sql of REMOVE_USER[client]) await admin.raw(sql.replaceAll('USER', user));
      await admin.destroy();
    });
    const limited = new URL(address);
    limited.username = user;
    limited.password = 'geheim';

    const storage = knexStorage(limited.href);
    await storage.migrate();
    await storage.grants.insert(aGrant(), aCode());
    await storage.close();

    const occupying = knex({ client, connection: limited.href, pool: { min: 0, max: 1 } });
    const late = knexStorage(limited.href, { timeout: '1 second' });
    t.teardown(async () => {
      await late.close();
      await occupying.destroy();
    });
    // A server frees a closed connection a moment later; until then it accepts no other.
    await until(async () =>
      occupying.raw('select 1').then(
        () => true,
        () => false,
      ),
    );
    await t.throwsAsync(late.grants.redeem(aCode(), exchange), {
      code: 'ERR_STORAGE',
      message: /has reached its connection limit/,
    });
    const waitingStorage = knexStorage(limited.href, { timeout: '20 seconds' });
    t.teardown(async () => waitingStorage.close());
    const waiting = waitingStorage.grants.redeem(aCode(), exchange);
    await delay(200);
    await occupying.destroy();
    t.deepEqual(await waiting, { outcome: 'redeemed' });
  },
  SERVERS,
);

onEachDatabase(
  'statements that the server no longer has prepared are sent again',
  async (t, { client }, address) => {
    const host = openHost(t, client, address, SOLE);
    const storage = knexStorage(host);
    await storage.migrate();
    await storage.grants.insert(aGrant(), aCode());
    t.is((await storage.grants.findCredential('code', aCode().id))?.grant.id, aGrant().id);
    // What a connection pooler does before it gives the connection to another client.
    await host.raw('discard all');
    t.is((await storage.grants.findCredential('code', aCode().id))?.grant.id, aGrant().id);
    await host.raw('discard all');
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
    t.deepEqual(await storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW), [aGrant().id]);
  },
  [postgresql],
);

onEachDatabase(
  'calls without a pause leave the host its turns on a pool of one connection',
  async (t, { client }, address) => {
    const host = openHost(t, client, address, SOLE);
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
  },
  SERVERS,
);
