import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import { aCode, aGrant, aRefreshToken, aSession, HOUR, NOW } from '../storage/rows.ts';
import { mariadb, onEachDatabase, postgresql } from './databases.ts';
import type { TestDatabase } from './databases.ts';
import { connectHost, openHost, openTransaction } from './host-knex.ts';
import { untilBlocked, untilNothingWaits } from './lock-waits.ts';

const SERVERS = [postgresql, mariadb];

interface Opened {
  readonly storage: Storage;
  /** A second program on the same database. */
  readonly other: Knex;
}

/** The owner of the connections decides how lock waits are bounded: by a setting of the server, or by the storage per call. */
const OWNERS: Readonly<Record<string, (client: TestDatabase['client'], address: string) => Knex | string>> = {
  'its own connections': (_client, address) => address,
  "a host's connections": connectHost,
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
        const other = openHost(t, database.client, address, { min: 0, max: 2 });
        t.teardown(async () => {
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

onLockedServers(
  'a call that waits for a locked row or table rejects within the timeout, and is not executed later',
  1000,
  async (t, { storage, other }, database) => {
    const exchange = { successor: aRefreshToken(), sealedSuccessor: 'sealed' };
    const isPg = database.client === 'pg';
    const transaction = await openTransaction(t, other);
    await transaction('gatehouse_grants').where({ id: aGrant().id }).forUpdate();
    const startedAt = performance.now();
    const calls = await Promise.allSettled(
      Array.from({ length: 15 }, async () => storage.grants.redeem(aCode(), exchange)),
    );
    t.true(performance.now() - startedAt < 12_000);
    for (const call of calls) {
      t.like(call, { status: 'rejected', reason: { code: 'ERR_STORAGE', status: 503 } });
    }
    await untilNothingWaits(other);
    await transaction.raw(isPg ? 'lock table gatehouse_sessions' : 'lock tables gatehouse_sessions write');
    await t.throwsAsync(storage.sessions.insert(aSession()), { code: 'ERR_STORAGE' });
    await untilNothingWaits(other);

    if (!isPg) await transaction.raw('unlock tables');
    await transaction.rollback();
    t.is((await storage.grants.findCredential('code', aCode().id))?.credential.consumedAt, undefined);
    t.deepEqual(await storage.grants.redeem(aCode(), exchange), { outcome: 'redeemed' });
    t.is(await storage.sessions.find(aSession().id), undefined);
    await storage.sessions.insert(aSession());
  },
);

/** Whether the storage was the victim of a deadlock with a transaction of another program, and what it revoked then. */
async function deadlock(
  t: ExecutionContext,
  { storage, other }: Opened,
  database: TestDatabase,
  grants: readonly [string, string, string],
): Promise<{ readonly isVictim: boolean; readonly revoked: readonly string[] }> {
  for (const id of grants) await storage.grants.insert(aGrant({ id }), aCode({ id, grantId: id }));
  const transaction = await openTransaction(t, other);
  const extend = async (ids: readonly string[]): Promise<unknown> =>
    transaction('gatehouse_grants')
      .whereIn('id', ids)
      .update({ needed_until: NOW + 100 * HOUR });
  // MariaDB aborts the transaction that has changed less.
  await transaction('gatehouse_credentials').update({ sealed_successor: 'much' });
  await extend([grants[1]]);
  const revoking = storage.grants.revoke({ userId: 'ann', clientId: 'timetable' }, NOW);
  await untilBlocked(other);
  let isVictim = true;
  try {
    await extend([grants[0], grants[2]]);
    await transaction.commit();
  } catch (error) {
    t.like(error, { code: database.client === 'pg' ? '40P01' : 'ER_LOCK_DEADLOCK' });
    await transaction.rollback();
    isVictim = false;
  }
  return { isVictim, revoked: await revoking };
}

onLockedServers('a transaction that a deadlock aborted is repeated', 20_000, async (t, opened, database) => {
  t.deepEqual(await opened.storage.grants.revoke({ id: aGrant().id }, NOW), [aGrant().id]);
  // PostgreSQL looks once for each statement, a second after its wait began, and aborts the first that finds the deadlock.
  for (let attempt = 1; ; attempt += 1) {
    const grants = [`${attempt} a`, `${attempt} b`, `${attempt} c`] as const;
    const { isVictim, revoked } = await deadlock(t, opened, database, grants);
    t.deepEqual(revoked.toSorted(), [...grants]);
    if (isVictim) break;
  }
});
