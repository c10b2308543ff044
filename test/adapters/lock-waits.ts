import type { Knex } from 'knex';

import { until } from '../harness/until.ts';
import type { ServerKind } from './servers.ts';

type Count = (other: Knex) => Promise<number>;
type Counts = Readonly<Record<ServerKind['client'], Count>>;

const STATEMENTS: Counts = {
  async pg(other) {
    const { rows } = await other.raw(
      `select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    );
    return Number(rows[0].count);
  },
  mysql2: async (other) => (await runningThreads(other)).size,
};

const WAITS: Counts = {
  pg: STATEMENTS.pg,
  async mysql2(other) {
    // Not from `information_schema.innodb_trx`, which the server does not renew while anybody reads it every 100 ms.
    const [[{ Status: status }]] = await other.raw('show engine innodb status');
    const waiting = (status as string).split('---TRANSACTION').filter((text) => /^LOCK WAIT/m.test(text));
    const running = await runningThreads(other);
    return waiting.filter((text) => running.has(/^MariaDB thread id (\d+)/m.exec(text)?.[1])).length;
  },
};

/** The ids of the threads of MariaDB that run a statement in the database. */
async function runningThreads(other: Knex): Promise<ReadonlySet<string | undefined>> {
  const [rows] = await other.raw(
    `select id from information_schema.processlist
     where db = database() and command = 'Query' and id <> connection_id()`,
  );
  return new Set((rows as { id: unknown }[]).map(({ id }) => String(id)));
}

/**
 * Resolves when no statement waits for a lock any more; the locks are still held.
 *
 * @param other - with a free connection, because PostgreSQL answers within a transaction as it did before
 */
export async function untilNothingWaits(other: Knex): Promise<void> {
  await until(async () => (await countBy(other, STATEMENTS)) === 0);
}

/** Resolves when a statement waits for a lock of a row. */
export async function untilBlocked(other: Knex): Promise<void> {
  await until(async () => (await countBy(other, WAITS)) > 0);
}

/** Resolves when a call has ended, or waits for a lock as the last of so many statements. */
export async function untilEndedOrBlocked(
  other: Knex,
  call: Promise<unknown>,
  statements = 1,
): Promise<void> {
  let hasEnded = false;
  const end = (): void => void (hasEnded = true);
  call.then(end, end);
  await until(async () => hasEnded || (await countBy(other, WAITS)) >= statements);
}

async function countBy(other: Knex, counts: Counts): Promise<number> {
  return counts[other.client.driverName as ServerKind['client']](other);
}
