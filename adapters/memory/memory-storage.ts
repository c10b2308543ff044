import type { Storage } from '../../lib/contracts.ts';
import { clientStore } from './clients.ts';
import { consentStore } from './consents.ts';
import { credentialStore } from './credentials.ts';
import { grantStore } from './grants.ts';
import { keyStore } from './keys.ts';
import { prune } from './prune.ts';
import { revocationStore } from './revocations.ts';
import { interactionStore, sessionStore } from './sessions.ts';
import { emptyTables } from './tables.ts';

/**
 * Keeps everything in this process's memory, for tests and first steps.
 *
 * What was kept is gone when the process ends, and no other node sees it. It needs no migration.
 */
export function memoryStorage(): Storage {
  const tables = emptyTables();
  return {
    clients: clientStore(tables),
    consents: consentStore(tables),
    grants: grantStore(tables),
    credentials: credentialStore(tables),
    revocations: revocationStore(tables),
    sessions: sessionStore(tables),
    interactions: interactionStore(tables),
    keys: keyStore(tables),
    async migrate() {},
    pendingMigrations: async () => [],
    prune: async (now, limit) => prune(tables, now, limit),
    async close() {},
  };
}
