import type { Milliseconds, Storage } from '../contracts/index.ts';
import { postgresqlChangeFeed } from './changes.ts';
import { readClock } from './clock.ts';
import { createDatabase } from './create-database.ts';
import type { CoreSteps, Database } from './database.ts';
import { access, diagnose } from './diagnose.ts';
import { migrate } from './migrate.ts';
import { findPendingMigrations } from './migrations.ts';
import type { SqlDatabase } from './port.ts';
import { createPrune } from './prune.ts';
import { assignmentStore } from './stores/assignments.ts';
import { attemptStore } from './stores/attempts.ts';
import { auditStore } from './stores/audit.ts';
import {
  clientStore,
  deleteClient,
  deleteForGood,
  dependentRows,
  insertClient,
  removeDependent,
} from './stores/clients.ts';
import { consentStore, createAddConsent } from './stores/consents.ts';
import { endsDone, endStore } from './stores/ends.ts';
import { grantStore } from './stores/grants.ts';
import { grantSteps } from './stores/insert-grant.ts';
import { idempotencyStore } from './stores/idempotency.ts';
import { keyStore } from './stores/keys.ts';
import { revocationStore } from './stores/revocations.ts';
import { endSignIns } from './stores/revoke-grants.ts';
import { sessionStore } from './stores/sessions.ts';
import { userDataStore } from './stores/user-data.ts';
import { transact } from './transact.ts';

/** The stores on an open database. */
export function createStorage(
  source: SqlDatabase,
  { listen, timeout }: { readonly listen: boolean; readonly timeout: Milliseconds },
): Storage {
  const opened = createDatabase(source, timeout);
  const changes =
    opened.dialect.name === 'postgresql'
      ? postgresqlChangeFeed(opened, async () => (listen ? source.listen?.() : undefined))
      : undefined;
  const ends = endStore(opened);

  return {
    durable: source.isDurable ?? true,
    clients: clientStore(opened, ends.written),
    consents: consentStore(opened),
    grants: grantStore(opened, ends.written),
    revocations: revocationStore(opened, ends.written),
    sessions: sessionStore(opened, ends.written),
    keys: keyStore(opened),
    assignments: assignmentStore(opened),
    audit: auditStore(opened),
    idempotency: idempotencyStore(opened),
    attempts: attemptStore(opened),
    store: (_name, make) => make(opened, coreSteps(opened)),
    ends: ends.store,
    userData: userDataStore(opened),
    ...(changes && { changes }),
    transaction: async (work) => transact(opened, work),
    migrate: async () => migrate(opened),
    pendingMigrations: async () =>
      opened.connection(async (statements) => {
        // Servers are started, and ready, only where they can write.
        await opened.dialect.requireWritable?.(statements);
        return findPendingMigrations(statements);
      }),
    confirm: async () => (opened.dialect.confirmation === undefined ? undefined : opened.confirm()),
    prune: createPrune(opened),
    state: async () => ({ clock: await readClock(opened), failing: opened.failing }),
    diagnose: async () => diagnose(opened, changes, timeout),
    access: async () => access(opened),
    async close() {
      changes?.close();
      await opened.settled();
      await source.close();
    },
  };
}

/** What the transactions of features have of the core. */
function coreSteps(database: Database): CoreSteps {
  const { dialect } = database;
  return {
    grantSteps: grantSteps(dialect),
    addConsent: createAddConsent(dialect),
    insertClient: async (statements, stored) => insertClient(statements, dialect, stored),
    deleteClient,
    deleteForGood: async (statements, id) => deleteForGood(statements, dialect, id),
    dependentRows,
    removeDependent: async (id) => removeDependent(database, id),
    endsDone,
    endSignIns: async (statements, signIns) => endSignIns(statements, dialect, signIns),
  };
}
