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
  const database = createDatabase(source, timeout);
  const changes =
    database.dialect.name === 'postgresql'
      ? postgresqlChangeFeed(database, async () => (listen ? source.listen?.() : undefined))
      : undefined;
  const ends = endStore(database);

  return {
    durable: source.durable ?? true,
    clients: clientStore(database, ends.written),
    consents: consentStore(database),
    grants: grantStore(database, ends.written),
    revocations: revocationStore(database, ends.written),
    sessions: sessionStore(database, ends.written),
    keys: keyStore(database),
    assignments: assignmentStore(database),
    audit: auditStore(database),
    idempotency: idempotencyStore(database),
    attempts: attemptStore(database),
    store: (_name, make) => make(database, coreSteps(database)),
    ends: ends.store,
    userData: userDataStore(database),
    ...(changes && { changes }),
    transaction: async (work) => transact(database, work),
    migrate: async () => migrate(database),
    pendingMigrations: async () =>
      database.connection(async (statements) => {
        // A server starts, and is ready, only where it can write.
        await database.dialect.requireWritable?.(statements);
        return findPendingMigrations(statements);
      }),
    confirm: async () => (database.dialect.confirmation === undefined ? undefined : database.confirm()),
    prune: createPrune(database),
    state: async () => ({ clock: await readClock(database), failing: database.failing }),
    diagnose: async () => diagnose(database, changes, timeout),
    access: async () => access(database),
    async close() {
      changes?.close();
      await database.settled();
      await source.close();
    },
  };
}

/** The steps of the core that transactions of features can have. */
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
