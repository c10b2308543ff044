import type { Storage } from '../../lib/contracts/index.ts';
import { sqlStorage } from '../knex/knex-storage.ts';
import { openMemory } from '../knex/open-database.ts';
import { createSchema } from '../knex/migrations.ts';

// Nothing is waited for but the process itself, which may be busy.
const TIMEOUT = 60_000;

/**
 * Storage in the memory of this process, for tests and first steps: SQLite without a file.
 *
 * Its data is lost when the process ends, and other nodes cannot read it. It needs no migration.
 */
export function memoryStorage(): Storage {
  const storage = sqlStorage(openMemory(TIMEOUT, createSchema), { timeout: TIMEOUT, listen: false });
  // Another server of the process may go on with it.
  return { ...storage, async close() {} };
}
