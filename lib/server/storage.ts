import { MigrationsPendingError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { CacheInvalidation } from '../token/cache-invalidation.ts';

/** @throws MigrationsPendingError when migrations are pending and the option `migrate` is not set */
export async function openStorage({ migrate, storage: given }: Pick<ResolvedOptions, 'migrate' | 'storage'>) {
  const pending = await given.pendingMigrations();
  if (pending.length > 0) {
    if (!migrate) throw new MigrationsPendingError(pending);
    await given.migrate();
  }
  const invalidation = new CacheInvalidation(given.changes);
  const forget = given.ends.onWritten(({ change, kind }) => {
    if (kind !== 'session') invalidation.announce(change);
  });
  return { invalidation, forget };
}

/** The caches of a server, which each end that is stored empties on all nodes. */
export type ServerStorage = Awaited<ReturnType<typeof openStorage>>;
