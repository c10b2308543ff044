import { StorageError } from '../../../lib/errors.ts';
import type { Database } from '../database.ts';
import { errorKind } from '../error-kinds.ts';
import type { Value } from '../../../lib/database/statements.ts';

/**
 * Makes the function that inserts a row with these values. It resolves to `false` when one with the same key is stored, which lasts
 * then. The insert decides, because after a query another node could insert the same key.
 */
export function insertUnlessStored(
  database: Database,
  insert: string,
): (values: readonly Value[]) => Promise<boolean> {
  if (database.dialect.countsConflicts) {
    const sql = `${insert} on conflict do nothing`;
    return async (values) => (await database.run(sql, values)) > 0;
  }
  return async (values) => {
    try {
      await database.run(insert, values);
      return true;
    } catch (error) {
      if (error instanceof StorageError && errorKind(error.cause) === 'duplicate key') return false;
      throw error;
    }
  };
}
