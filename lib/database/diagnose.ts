import { now } from '../contracts/clock.ts';
import type { Milliseconds, StorageAccess, StorageDiagnosis } from '../contracts/index.ts';
import { MigrationsPendingError } from '../errors.ts';
import type { PostgresqlChangeFeed } from './changes.ts';
import type { Database } from './database.ts';
import { codeOf } from './error-kinds.ts';
import { isRefusal, named } from './explain-error.ts';
import { EXPIRING } from './prune.ts';
import { TABLES } from './tables.ts';
import { toOptionalNumber } from './rows.ts';
import type { Integer } from './rows.ts';

/** Reads the database's cache and the oldest expired row; for each table, this reads the first entry of an index. */
export async function diagnose(
  database: Database,
  changes: Pick<PostgresqlChangeFeed, 'diagnose'> | undefined,
  timeout: Milliseconds,
): Promise<StorageDiagnosis> {
  const row = await database.get<{ oldest: Integer | null }>(
    `select min(expiry) as oldest from (${OLDEST}) of_tables`,
  );
  const oldest = toOptionalNumber(row?.oldest ?? null);
  const isExpired = oldest !== undefined && oldest < now();
  const { dialect } = database;
  return {
    oldestExpired: isExpired ? oldest : undefined,
    cache: await database.connection(async (statements) => dialect.readCache?.(statements)),
    withoutTransactions:
      (await database.connection(async (statements) => dialect.findWithoutTransactions?.(statements))) ?? [],
    listening: await changes?.diagnose(timeout),
  };
}

// The expiry 0 is that of a counter of attempts that was reset: such a row has not waited to be pruned.
const OLDEST = EXPIRING.map(
  ({ table, column }) => `select min(${column}) as expiry from ${table} where ${column} > 0`,
).join(' union all ');

/**
 * Finds out what the database permits, by statements that change no row: lists of privileges differ between the databases, and do
 * not show that a server is a standby or a file is read-only.
 */
export async function access(database: Database): Promise<StorageAccess> {
  const readOnly = await refusalOf(async () => {
    for (const { name: table, key: [column] = ['id'] } of TABLES) {
      await database.run(`insert into ${table} select * from ${table} where 1 = 0`);
      await database.run(`update ${table} set ${column} = ${column} where 1 = 0`);
      await database.run(`delete from ${table} where 1 = 0`);
    }
  });
  const noMigrations = await refusalOf(async () =>
    database.connection(async (statements) => database.dialect.checkMigrating?.(statements)),
  );
  return { readOnly, noMigrations };
}

/** How the database refuses statements; `undefined` when it does not, or when it has no tables yet. */
async function refusalOf(attempt: () => Promise<void>): Promise<string | undefined> {
  try {
    await attempt();
    return undefined;
  } catch (error) {
    if (error instanceof MigrationsPendingError) return undefined;
    const { cause } = error as Error;
    if (isRefusal(codeOf(cause))) return named(cause);
    throw error;
  }
}
