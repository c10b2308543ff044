import { now } from '../../lib/contracts/clock.ts';
import type { StorageCache, StorageDiagnosis } from '../../lib/contracts/index.ts';
import type { Database } from './database.ts';
import { EXPIRING } from './prune.ts';
import { toOptionalNumber } from './stores/column-values.ts';
import type { Integer } from './stores/column-values.ts';

/** Reads the database's clock, its cache and the oldest expired row; for each table, this reads the first entry of an index. */
export async function diagnose(database: Database): Promise<StorageDiagnosis> {
  const row = await database.get<{ clock: Integer | null; oldest: Integer | null }>(
    `select ${database.dialect.clock} as clock, min(expiry) as oldest from (${OLDEST}) of_tables`,
  );
  const oldest = toOptionalNumber(row?.oldest ?? null);
  const isExpired = oldest !== undefined && oldest < now();
  return {
    clock: toOptionalNumber(row?.clock ?? null),
    oldestExpired: isExpired ? oldest : undefined,
    cache: await readCache(database),
  };
}

const OLDEST = EXPIRING.map(({ table, column }) => `select min(${column}) as expiry from ${table}`).join(
  ' union all ',
);

async function readCache(database: Database): Promise<StorageCache | undefined> {
  const { dialect } = database;
  if (!dialect.readCache) return undefined;
  return database.connection(async (statements) => dialect.readCache!(statements));
}
