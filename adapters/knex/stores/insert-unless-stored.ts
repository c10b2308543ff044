import { StorageError } from '../../../lib/errors.ts';
import type { Database } from '../database.ts';
import { errorKind } from '../error-kinds.ts';
import type { Value } from '../statements.ts';

/**
 * Inserts a row. Resolves to `false` when one with the same key is stored, which lasts then. The insert decides, because after a query
 * another node could insert the same key.
 */
export async function insertUnlessStored(
  database: Database,
  sql: string,
  values: readonly Value[],
): Promise<boolean> {
  try {
    await database.run(sql, values);
    return true;
  } catch (error) {
    const isStored = error instanceof StorageError && errorKind(error.cause) === 'duplicate key';
    if (!isStored) throw error;
    await database.confirm();
    return false;
  }
}
