import { now } from '../../lib/contracts/clock.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import { assignmentStore } from './assignments.ts';
import { attemptStore } from './attempts.ts';
import { auditStore } from './audit.ts';
import { clientStore } from './clients.ts';
import { consentStore } from './consents.ts';
import { credentialStore } from './credentials.ts';
import { grantStore } from './grants.ts';
import { idempotencyStore } from './idempotency.ts';
import { keyStore } from './keys.ts';
import { oldestExpired, prune } from './prune.ts';
import { revocationStore } from './revocations.ts';
import { sessionStore } from './sessions.ts';
import { emptyTables } from './tables.ts';

/**
 * Keeps everything in this process's memory, for tests and first steps.
 *
 * What was kept is gone when the process ends, and no other node sees it. It needs no migration. Its `transaction()` runs
 * the work and nothing else: what was done before an error stays done.
 */
export function memoryStorage(): Storage {
  const tables = emptyTables();
  return {
    durable: false,
    clients: clientStore(tables),
    consents: consentStore(tables),
    grants: grantStore(tables),
    credentials: credentialStore(tables),
    revocations: revocationStore(tables),
    sessions: sessionStore(tables),
    keys: keyStore(tables),
    assignments: assignmentStore(tables),
    audit: auditStore(tables),
    idempotency: idempotencyStore(tables),
    attempts: attemptStore(tables),
    transaction: async (work) => work(undefined),
    async migrate() {},
    pendingMigrations: async () => [],
    prune: async (at, limit) => prune(tables, at, limit),
    diagnose: async () => ({
      clock: undefined,
      oldestExpired: oldestExpired(tables, now()),
    }),
    async close() {},
  };
}
