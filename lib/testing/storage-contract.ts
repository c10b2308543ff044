import type { Storage } from '../contracts/index.ts';
import { assignmentContract } from './storage/assignments.ts';
import { attemptContract } from './storage/attempts.ts';
import { auditContract, auditPageContract } from './storage/audit.ts';
import { clientListContract, clientSecretContract } from './storage/client-lists-and-secrets.ts';
import { clientContract } from './storage/clients.ts';
import { consentContract } from './storage/consents.ts';
import { credentialContract } from './storage/credentials.ts';
import { grantContract } from './storage/grants.ts';
import { idempotencyContract, leaseContract } from './storage/idempotency.ts';
import { keyContract } from './storage/keys.ts';
import { migrationContract } from './storage/migrations.ts';
import { diagnosisContract, pruneContract } from './storage/prune.ts';
import { redemptionContract } from './storage/redemption.ts';
import { revocationContract } from './storage/revocations.ts';
import { sessionContract } from './storage/sessions.ts';
import type { StorageTest } from './storage/storage-test.ts';
import { transactionContract } from './storage/transactions.ts';
import type { RegisterTest } from './test-runner.ts';

/**
 * Registers the tests that a storage has to pass to be one: every method, and what must hold when many callers come at once.
 *
 * @param makeStorage - opens an empty storage for one test, before any `migrate()`. The suite closes it.
 *
 * @example
 * import test from 'ava';
 * import { storageContract } from 'koa-gatehouse/testing';
 * storageContract(test, () => myStorage());
 */
export function storageContract(test: RegisterTest, makeStorage: () => Storage | Promise<Storage>): void {
  const onEmptyStorage: StorageTest = (title, run) => {
    test(title, async (t) => {
      const storage = await makeStorage();
      t.teardown(async () => storage.close());
      await run(t, storage);
    });
  };
  const onStorage: StorageTest = (title, run) => {
    onEmptyStorage(title, async (t, storage) => {
      await storage.migrate();
      await run(t, storage);
    });
  };

  migrationContract(onEmptyStorage);
  clientContract(onStorage);
  clientListContract(onStorage);
  clientSecretContract(onStorage);
  consentContract(onStorage);
  grantContract(onStorage);
  credentialContract(onStorage);
  redemptionContract(onStorage);
  revocationContract(onStorage);
  sessionContract(onStorage);
  keyContract(onStorage);
  assignmentContract(onStorage);
  auditContract(onStorage);
  auditPageContract(onStorage);
  idempotencyContract(onStorage);
  leaseContract(onStorage);
  attemptContract(onStorage);
  transactionContract(onStorage);
  pruneContract(onStorage);
  diagnosisContract(onStorage);
}
