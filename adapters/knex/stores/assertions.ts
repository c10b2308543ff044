import type { AssertionStore } from '../../../lib/contracts/index.ts';
import { StorageError } from '../../../lib/errors.ts';
import type { Database } from '../database.ts';

/** Client assertions that were used. */
export function assertionStore(database: Database): AssertionStore {
  return {
    async spend(id, expiresAt) {
      try {
        await database.run('insert into gatehouse_assertions (id, expires_at) values (?, ?)', [
          id,
          expiresAt,
        ]);
        return true;
      } catch (error) {
        // The insert decides, because after a query another node could insert the same id.
        if (error instanceof StorageError && database.dialect.errorKind(error.cause) === 'duplicate key') {
          return false;
        }
        throw error;
      }
    },
  };
}
