import { now } from '../../lib/contracts/clock.ts';
import type { StorageCache, StorageDiagnosis, StorageState } from '../../lib/contracts/index.ts';
import { readClock } from './clock.ts';
import type { PostgresqlChangeFeed } from './changes.ts';
import type { Database } from './database.ts';
import { EXPIRING } from './prune.ts';
import { toOptionalNumber } from './stores/column-values.ts';
import type { Integer } from './stores/column-values.ts';

/** Reads the database's clock. */
export async function state(database: Database): Promise<StorageState> {
  return { clock: await readClock(database), failing: database.failing };
}

/** Reads the database's cache and the oldest expired row; for each table, this reads the first entry of an index. */
export async function diagnose(
  database: Database,
  changes: Pick<PostgresqlChangeFeed, 'diagnose'> | undefined,
  timeout: number,
): Promise<StorageDiagnosis> {
  const row = await database.get<{ oldest: Integer | null }>(
    `select min(expiry) as oldest from (${OLDEST}) of_tables`,
  );
  const oldest = toOptionalNumber(row?.oldest ?? null);
  const isExpired = oldest !== undefined && oldest < now();
  return {
    oldestExpired: isExpired ? oldest : undefined,
    cache: await readCache(database),
    listening: await changes?.diagnose(timeout),
  };
}

// 0: a counter of attempts that was reset. It has not waited to be pruned.
const OLDEST = EXPIRING.map(
  ({ table, column }) => `select min(${column}) as expiry from ${table} where ${column} > 0`,
).join(' union all ');

async function readCache(database: Database): Promise<StorageCache | undefined> {
  const { dialect } = database;
  if (!dialect.readCache) return undefined;
  return database.connection(async (statements) => dialect.readCache!(statements));
}
