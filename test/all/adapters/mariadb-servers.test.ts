import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant, aSession } from '../../storage/rows.ts';
import { startPlatform } from '../../harness/platform.ts';
import { until } from '../../harness/until.ts';
import { sayMissing } from '../../harness/missing.ts';
import { startDatabaseProxy } from '../../adapters/database-proxy.ts';
import { openHost, openStorage, openTransaction, SOLE } from '../../adapters/host-knex.ts';
import { findPrograms, makeScratchServer, SCRATCH_KINDS } from '../../adapters/scratch-server.ts';
import { findServer, MARIADB, READ_ONLY } from '../../adapters/servers.ts';
import { endWith } from '../../harness/serve.ts';

const kind = SCRATCH_KINDS.find(({ name }) => name === 'MariaDB')!;
const programs = findPrograms(kind);
const anotherServer = findServer(MARIADB);

if (programs === undefined) {
  sayMissing(`there is no ${kind.program}: install MariaDB as Debian packages it`);
} else {
  const making = makeScratchServer(kind, programs);
  test.before('start a server', async () => (await making).start());
  test.after.always('remove it', async () => (await making).remove());

  /** A database on the server, a user who may not write while the server is read-only, and an administrator. */
  async function prepare(t: ExecutionContext, name: string): Promise<{ address: string; admin: Knex }> {
    const address = new URL((await making).address);
    const admin = openHost(t, 'mysql2', address.href, { min: 0, max: 4 });
    address.pathname = name;
    address.username = `user_of_${name}`;
    await admin.raw(`create database ${name}`);
    await admin.raw(`create user ${address.username}@'%'`);
    await admin.raw(`grant all on ${name}.* to ${address.username}@'%'`);
    return { address: address.href, admin };
  }

  test.serial(
    'MariaDB: a server that only allows reads is not used, and is again when it allows writes',
    async (t) => {
      const { address, admin } = await prepare(t, 'replicated');
      const storage = knexStorage(address, { timeout: '500 ms' });
      await using platform = await startPlatform({ storage });
      t.deepEqual(await platform.auth.ready(), { ready: true });
      await storage.grants.insert(aGrant(), aCode());

      await admin.raw('set global read_only = 1');
      await t.throwsAsync(storage.grants.redeem(aCode(), {}), READ_ONLY);
      while ((await platform.auth.ready()).ready) await delay(50);
      t.deepEqual(await platform.auth.ready(), { ready: false, reason: 'storage_unreachable' });

      await admin.raw('set global read_only = 0');
      t.deepEqual(await storage.grants.redeem(aCode(), {}), { outcome: 'redeemed' });
      await until(async () => (await platform.auth.ready()).ready);
    },
  );

  test.serial('MariaDB: a connection whose transactions only read is replaced', async (t) => {
    const { address } = await prepare(t, 'reading');
    let isFirst = true;
    const host = openHost(t, 'mysql2', address, {
      min: 0,
      max: 1,
      afterCreate(connection: { query(sql: string, done: (error?: Error) => void): void }, done: () => void) {
        connection.query(`set session transaction read ${isFirst ? 'only' : 'write'}`, done);
        isFirst = false;
      },
    });
    await openStorage(t, address);
    t.true(await knexStorage(host).grants.insert(aGrant(), aCode()));
  });

  if ('address' in anotherServer) {
    test.serial(
      'MariaDB: the server that runs a statement ends it in time, behind a balancer too; another server gets no request to stop it',
      async (t) => {
        // Of a user and a database that are on both servers.
        const { address } = await making;
        const admin = openHost(t, 'mysql2', address, SOLE);
        const balancer = endWith(t, await startDatabaseProxy(address));
        // Its own pool would also tell the server to end the wait for a lock.
        const host = openHost(t, 'mysql2', balancer.address);
        await knexStorage(host).migrate();
        const storage = knexStorage(host, { timeout: '300 ms' });
        await storage.sessions.insert(aSession());
        const holding = await openTransaction(t, admin);
        await holding.raw('select * from gatehouse_sessions for update');

        balancer.leadTo(anotherServer.address);
        await t.throwsAsync(storage.sessions.update(aSession()), {
          message: /did not finish within 300 ms and was cancelled. Nothing was changed/,
        });
        t.is(balancer.sent(), '');
      },
    );
  }
}
