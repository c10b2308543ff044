import { now } from '../../lib/contracts/clock.ts';
import type { StorageDiagnosis } from '../../lib/contracts/index.ts';
import type { Database } from './database.ts';
import { EXPIRING } from './prune.ts';
import { toOptionalNumber } from './stores/column-values.ts';
import type { Integer } from './stores/column-values.ts';

/** Looks at the database's clock, and at the end of each index of rows that expire. */
export async function diagnose(database: Database): Promise<StorageDiagnosis> {
  const row = await database.get<{ clock: Integer | null; oldest: Integer | null }>(
    `select ${database.dialect.clock} as clock, min(expiry) as oldest from (${OLDEST}) of_tables`,
  );
  const oldest = toOptionalNumber(row?.oldest ?? null);
  const isExpired = oldest !== undefined && oldest < now();
  return { clock: toOptionalNumber(row?.clock ?? null), oldestExpired: isExpired ? oldest : undefined };
}

const OLDEST = EXPIRING.map(({ table, column }) => `select min(${column}) as expiry from ${table}`).join(
  ' union all ',
);
