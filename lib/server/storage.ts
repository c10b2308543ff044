import { MigrationsPendingError } from '../errors.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';
import { CacheInvalidation, observeRevocations } from '../token/cache-invalidation.ts';

/** @throws MigrationsPendingError when migrations are pending and the option `migrate` is not set */
export async function openStorage({ migrate, storage: given }: Pick<ResolvedOptions, 'migrate' | 'storage'>) {
  const pending = await given.pendingMigrations();
  if (pending.length > 0) {
    if (!migrate) throw new MigrationsPendingError(pending);
    await given.migrate();
  }
  const invalidation = new CacheInvalidation(given.changes);
  return { storage: observeRevocations(given, invalidation.announce), invalidation };
}

/** The storage of a server, each of whose revocations invalidates the caches of all nodes. */
export type ServerStorage = Awaited<ReturnType<typeof openStorage>>;
