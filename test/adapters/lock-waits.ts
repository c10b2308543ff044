import type { Knex } from 'knex';

import { until } from '../harness/until.ts';
import type { ServerKind } from './servers.ts';

type Counts = Readonly<Record<ServerKind['client'], string>>;

const STATEMENTS: Counts = {
  pg: `select count(*) as count from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  mysql2: `select count(*) as count from information_schema.processlist
    where db = database() and command = 'Query' and id <> connection_id()`,
};

const WAITS: Counts = {
  pg: STATEMENTS.pg,
  mysql2: `select count(*) as count from information_schema.innodb_trx
    join information_schema.processlist on id = trx_mysql_thread_id
    where db = database() and trx_state = 'LOCK WAIT'`,
};

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

async function countBy(other: Knex, counts: Counts): Promise<number> {
  const answer = await other.raw(counts[other.client.driverName as ServerKind['client']]);
  // Of PostgreSQL an object, of MariaDB an array.
  const [row] = answer.rows ?? answer[0];
  return Number(row.count);
}
