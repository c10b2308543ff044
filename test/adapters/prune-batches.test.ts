// While a transaction keeps an old snapshot, such as that of a backup, a database keeps the index entries of deleted rows.
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { aKey, aSession, NOW } from '../storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import { hostKnex, openHost, openStorage, SOLE } from './host-knex.ts';
import { SERIES } from './operations.ts';
import { watchedKnex } from './watched-knex.ts';

const BATCH = 100;
const ROWS = 6000;

interface Sent {
  readonly sql: string;
  readonly values: readonly unknown[];
}

/** What is read when the statement of a batch is run once more, and undone. */
const read: Readonly<Record<'pg' | 'mysql2', (host: Knex, sent: Sent) => Promise<number>>> = {
  // Blocks.
  async pg(host, { sql, values }) {
    const literals = values.map((value) => `'${value as string}'`);
    await host.raw(`prepare batch as ${sql}`);
    await host.raw('begin');
    const { rows } = await host.raw(
      `explain (analyze, buffers, timing off, format json) execute batch (${literals.join(', ')})`,
    );
    await host.raw('rollback; deallocate batch');
    const plan = rows[0]['QUERY PLAN'][0].Plan;
    return plan['Shared Hit Blocks'] + plan['Shared Read Blocks'];
  },
  // The entries that it locks, those of deleted rows among them.
  async mysql2(host, { sql }) {
    await host.raw('begin');
    await host.raw(sql);
    try {
      for (;;) {
        // The server copies this table at most every 100 ms.
        const [[row]] = await host.raw(
          'select trx_rows_locked as count from information_schema.innodb_trx where trx_mysql_thread_id = connection_id()',
        );
        if (row && Number(row.count) > 0) return Number(row.count);
      }
    } finally {
      await host.raw('rollback');
    }
  },
};

onEachDatabase(
  'beside an open snapshot, the fiftieth batch of prune() reads as much as the second',
  async (t, { client }, address) => {
    if (client === 'better-sqlite3') return;
    let sent: Sent[] = [];
    const host = watchedKnex(client, address, (sql, values) => {
      if (sql.includes('gatehouse_')) sent.push({ sql, values });
    });
    t.teardown(async () => host.destroy());
    const storage = knexStorage(host);
    await storage.migrate();
    const other = openHost(t, client, address, SOLE);
    // In another order than that of their expiry.
    await other.raw(
      `insert into gatehouse_sessions (id, uid, user_id, payload, expires_at, sequence, last_used_at)
       select concat('of ', i), concat('of ', i), concat('of ', i), repeat('x', 500), ${NOW} - (n * 7919) % ${ROWS} - 1, 1, 0
       from ${SERIES[client](1, ROWS)}`,
    );
    const snapshot = openHost(t, client, address, SOLE);
    await snapshot.raw(client === 'pg' ? 'begin isolation level repeatable read' : 'begin');
    await snapshot('gatehouse_credentials').count();

    const counts: number[] = [];
    for (let batch = 1; batch <= 50; batch += 1) {
      sent = [];
      t.is(await storage.prune(NOW, BATCH), BATCH);
      const found = sent.findLast(({ sql }) => sql.includes('select') && sql.includes('gatehouse_sessions'));
      if (batch === 2 || batch === 50) counts.push(await read[client](other, found!));
    }
    const [second, fiftieth] = counts;
    t.true(fiftieth! < 2 * second!, `${second} and ${fiftieth}`);
  },
  [postgresql, mariadb],
);

postgresql.register(
  'prune() removes at most as many rows as its limit, whichever plan PostgreSQL chooses',
  async (t) => {
    const plans = ['hashjoin', 'mergejoin', 'hashagg', 'sort', 'material'];
    const settings = plans.map((name) => `set enable_${name} = off`).join('; ');
    const host = hostKnex('pg', await postgresql.empty(), settings);
    t.teardown(async () => host.destroy());
    const storage = await openStorage(t, host);
    for (let index = 0; index < 50; index += 1) {
      await storage.sessions.insert(aSession({ id: `${index}`, uid: `${index}`, expiresAt: NOW - 1 }));
      await storage.keys.insert(aKey({ id: `${index}`, generation: index, retiresAt: NOW - 1 }));
    }
    const removed: number[] = [];
    for (let call = 0; call < 6; call += 1) removed.push(await storage.prune(NOW, 30));
    t.deepEqual(removed, [30, 30, 30, 10, 0, 0]);
  },
);
