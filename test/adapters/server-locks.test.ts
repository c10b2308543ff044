import { setTimeout as delay } from 'node:timers/promises';

import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken, aSession, HOUR, NOW } from '../../lib/testing/storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import type { TestDatabase } from './databases.ts';

const SERVERS = [postgresql, mariadb];

interface Opened {
  readonly storage: Storage;
  /** A second program on the same database. */
  readonly other: Knex;
}

/** The owner of the connections decides how lock waits are bounded: by a setting of the server, or by the storage per call. */
const OWNERS: Readonly<Record<string, (client: TestDatabase['client'], address: string) => Knex | string>> = {
  'its own connections': (_client, address) => address,
  "a host's connections": (client, address) => knex({ client, connection: address, log: { warn() {} } }),
};

function onLockedServers(
  title: string,
  timeout: number,
  run: (t: ExecutionContext, opened: Opened, database: TestDatabase) => Promise<void>,
): void {
  for (const [owner, connectionsOf] of Object.entries(OWNERS)) {
    onEachDatabase(
      `${title}, on ${owner}`,
      async (t, database, address) => {
        const connections = connectionsOf(database.client, address);
        const storage = knexStorage(connections, { timeout: `${timeout} ms` });
        const other = knex({ client: database.client, connection: address, pool: { min: 0, max: 2 } });
        t.teardown(async () => {
          await other.destroy();
          await storage.close();
          if (typeof connections === 'function') await connections.destroy();
        });
        await storage.migrate();
        await storage.grants.insert(aGrant(), aCode());
        await run(t, { storage, other }, database);
      },
      SERVERS,
    );
  }
}

const WAITING = {
  pg: `select count(*) as waiting from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  mysql2: `select count(*) as waiting from information_schema.processlist
    where db = database() and command = 'Query' and id <> connection_id()`,
};

/** Resolves when no statement waits for a lock any more; the locks are still held. */
async function untilNothingWaits(other: Knex, { client }: TestDatabase): Promise<void> {
  for (;;) {
    const answer = await other.raw(client === 'pg' ? WAITING.pg : WAITING.mysql2);
    const [row] = client === 'pg' ? answer.rows : answer[0];
    if (Number(row.waiting) === 0) return;
    await delay(50);
  }
}

/** A transaction that is rolled back when the test ends. */
async function begin(t: ExecutionContext, other: Knex): Promise<Knex.Transaction> {
  const transaction = await other.transaction();
  t.teardown(async () => {
    if (!transaction.isCompleted()) await transaction.rollback();
  });
  return transaction;
}

onLockedServers(
  'a call that waits for a locked row or table rejects within the timeout, and is not executed later',
  300,
  async (t, { storage, other }, database) => {
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };
    const isPg = database.client === 'pg';
    const transaction = await begin(t, other);
    await transaction('gatehouse_grants').where({ id: aGrant().id }).forUpdate();
    const startedAt = performance.now();
    const calls = await Promise.allSettled(
      Array.from({ length: 15 }, async () => storage.grants.redeem(aCode(), exchange)),
    );
    t.true(performance.now() - startedAt < 5000);
    for (const call of calls) {
      t.like(call, { status: 'rejected', reason: { code: 'ERR_STORAGE', status: 503 } });
    }
    await untilNothingWaits(other, database);
    await transaction.raw(isPg ? 'lock table gatehouse_sessions' : 'lock tables gatehouse_sessions write');
    await t.throwsAsync(storage.sessions.insert(aSession()), { code: 'ERR_STORAGE' });
    await untilNothingWaits(other, database);

    if (!isPg) await transaction.raw('unlock tables');
    await transaction.rollback();
    t.is((await storage.grants.findCredential('code', aCode().id))?.credential.consumedAt, undefined);
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
    t.is(await storage.sessions.find(aSession().id), undefined);
    await storage.sessions.insert(aSession());
  },
);

onLockedServers('a transaction that a deadlock aborted is repeated', 5000, async (t, { storage, other }) => {
  for (const id of ['a', 'b']) await storage.grants.insert(aGrant({ id }), aCode({ id, grantId: id }));
  const transaction = await begin(t, other);
  // The server aborts the transaction that has changed less, or the one that waited first.
  await transaction('gatehouse_credentials').update({ sealed_successor: 'much' });
  await transaction('gatehouse_grants')
    .where({ id: 'b' })
    .update({ needed_until: NOW + 100 * HOUR });
  const revoking = storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
  await delay(200);
  await transaction('gatehouse_grants')
    .whereIn('id', ['a', aGrant().id])
    .update({ needed_until: NOW + 100 * HOUR });
  await transaction.commit();
  t.deepEqual((await revoking).toSorted(), ['a', 'b', aGrant().id]);
});
