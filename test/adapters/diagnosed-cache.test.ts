import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aRecord, NOW } from '../storage/rows.ts';
import { mariadb, onEachDatabase, onEachEmptyDatabase, postgresql, sqlite } from './databases.ts';
import { openHost, openStorage, SOLE } from './host-knex.ts';

const GROWING = ['gatehouse_revocations', 'gatehouse_audit'];

// Of rows that an earlier test has deleted, the server gives the pages back at any later time.
onEachEmptyDatabase(
  'what the tables need of the buffer pool grows with rows that requests look up, and not with audit events',
  async (t, { client }, address) => {
    const host = openHost(t, client, address, SOLE);
    const storage = knexStorage(host);
    await storage.migrate();
    // While the server renews statistics by itself, they are incomplete.
    for (const table of GROWING) await host.raw(`alter table ${table} stats_auto_recalc = 0`);

    /** The diagnosis, after the statistics of what has grown were renewed. */
    async function measure(): Promise<{ readonly size: number; readonly needed: number }> {
      await host.raw(`analyze table ${GROWING.join(', ')}`);
      return (await storage.diagnose()).cache!;
    }

    const before = await measure();
    const [[pool]] = await host.raw('select @@innodb_buffer_pool_size as size');
    t.is(before.size, pool.size);

    const events = Array.from({ length: 5000 }, (_, index) => aRecord({ id: `${index}` }));
    await storage.audit.append(events, NOW);
    t.is((await measure()).needed, before.needed);

    const ends = Array.from({ length: 5000 }, (_, index) => ({
      kind: 'token',
      value: `token ${index}`,
      revoked_at: NOW,
      expires_at: NOW,
    }));
    await host.batchInsert('gatehouse_revocations', ends, 1000);
    const { needed } = await measure();
    t.true(needed > before.needed, `${before.needed} ${needed}`);

    // What another application has in the database does not count.
    await host.raw('create table gatehouses (id int primary key)');
    t.is((await measure()).needed, needed);
  },
  [mariadb],
);

onEachDatabase(
  'other databases say nothing of their cache',
  async (t, _database, address) => {
    const storage = await openStorage(t, address);
    t.is((await storage.diagnose()).cache, undefined);
  },
  [sqlite, postgresql],
);
