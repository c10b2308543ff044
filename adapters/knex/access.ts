import type { StorageAccess } from '../../lib/contracts/index.ts';
import { MigrationsPendingError } from '../../lib/errors.ts';
import type { Database } from './database.ts';
import { codeOf } from './dialect.ts';
import { isRefusal } from './error-codes.ts';
import { named } from './explain-error.ts';

/** The tables that a server changes, each with one of its columns. */
const TABLES: Readonly<Record<string, string>> = {
  gatehouse_clients: 'id',
  gatehouse_client_secrets: 'id',
  gatehouse_client_names: 'client_id',
  gatehouse_registrations: 'client_id',
  gatehouse_consents: 'user_id',
  gatehouse_grants: 'id',
  gatehouse_credentials: 'id',
  gatehouse_revocations: 'kind',
  gatehouse_sessions: 'id',
  gatehouse_keys: 'id',
  gatehouse_assignments: 'user_id',
  gatehouse_idempotency: 'id',
  gatehouse_audit: 'id',
  gatehouse_attempts: 'id',
  gatehouse_assertions: 'id',
  gatehouse_device_codes: 'id',
};

/**
 * Finds out what the database permits, by statements that change no row: lists of privileges differ between the databases, and do
 * not show that a server is a standby or a file is read-only.
 */
export async function access(database: Database): Promise<StorageAccess> {
  const { dialect } = database;
  const readOnly = await refusalOf(async () => {
    for (const [table, column] of Object.entries(TABLES)) {
      await database.run(`insert into ${table} select * from ${table} where 1 = 0`);
      await database.run(`update ${table} set ${column} = ${column} where 1 = 0`);
      await database.run(`delete from ${table} where 1 = 0`);
    }
  });
  const noMigrations = await refusalOf(async () =>
    database.connection(async (statements) => dialect.checkMigrating?.(statements)),
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
