import { setTimeout as delay } from 'node:timers/promises';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aCode, aGrant } from '../../storage/rows.ts';
import { startPlatform } from '../../harness/platform.ts';
import { until } from '../../harness/until.ts';
import { onEachDatabase, postgresql } from '../../adapters/databases.ts';
import { transact } from '../../adapters/schools.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { connect, POSTGRESQL, READ_ONLY } from '../../adapters/servers.ts';

onEachDatabase(
  'a connection to a server that only allows reads is replaced',
  async (t, { client }, address) => {
    const admin = connect(POSTGRESQL, address);
    const host = connectHost(client, address, { min: 0, max: 3 });
    t.teardown(async () => {
      await host.destroy();
      await admin.destroy();
    });
    const allowWrites = allowWritesBy(admin, address);
    const storage = knexStorage(host, { timeout: '2 seconds' });
    const first = knexStorage(address);
    await first.migrate();
    await first.close();

    async function fillPool(): Promise<void> {
      await Promise.all([1, 2, 3].map(async () => host.raw('select pg_sleep(0.05)')));
    }

    // What a stale name does: new connections reach the primary, those of the pool another server.
    await allowWrites(false);
    await fillPool();
    await allowWrites(true);
    t.true(await storage.grants.insert(aGrant(), aCode()));
    t.deepEqual(await storage.grants.redeem(aCode(), {}), { outcome: 'redeemed' });

    await host.destroy();
    host.initialize();
    await allowWrites(false);
    await fillPool();
    await allowWrites(true);
    const names: string[] = [];
    for (let failures = 0; names.length === 0; failures += 1) {
      t.true(failures <= 3, 'each connection of the pool fails once');
      await transact(storage, async (transaction) => {
        await transaction.raw('create table schools (name varchar(255))');
        names.push('Hill');
      }).catch((error: unknown) => t.like(error, { code: '25006' }));
    }

    await allowWrites(false);
    await host.destroy();
    host.initialize();
    await t.throwsAsync(storage.revocations.revokeAllOf({ userId: 'ann' }), READ_ONLY);
    await allowWrites(true);
    await t.notThrowsAsync(storage.revocations.revokeAllOf({ userId: 'ann' }));
  },
  [postgresql],
);

onEachDatabase(
  'a server is ready only while it can write',
  async (t, _database, address) => {
    const admin = connect(POSTGRESQL, address);
    t.teardown(async () => admin.destroy());
    const allowWrites = allowWritesBy(admin, address);
    const storage = knexStorage(address, { timeout: '2 seconds' });
    await using platform = await startPlatform({ storage });
    t.deepEqual(await platform.auth.ready(), { ready: true });

    await allowWrites(false);
    // What ends the sessions of a server that becomes a standby.
    await admin.raw(`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`);
    while ((await platform.auth.ready()).ready) await delay(50);
    t.deepEqual(await platform.auth.ready(), { ready: false, reason: 'storage_unreachable' });
    await t.throwsAsync(platform.registerApp(), READ_ONLY);
    const another = knexStorage(address, { timeout: '2 seconds' });
    t.teardown(async () => another.close());
    await t.throwsAsync(startPlatform({ storage: another }), READ_ONLY);

    await allowWrites(true);
    await until(async () => (await platform.auth.ready()).ready);
    await t.notThrowsAsync(platform.registerApp());
  },
  [postgresql],
);

/** Makes new connections to the database of an address able to write, or not. */
function allowWritesBy(
  admin: ReturnType<typeof connect>,
  address: string,
): (allowed: boolean) => Promise<void> {
  const name = new URL(address).pathname.slice(1);
  return async (allowed) => {
    await admin.raw('set default_transaction_read_only = off');
    await admin.raw(`alter database ${name} set default_transaction_read_only = ${allowed ? 'off' : 'on'}`);
  };
}
