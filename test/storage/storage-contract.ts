import type { Storage } from '../../lib/contracts/index.ts';
import { assertionContract } from './client-lists-and-secrets.ts';
import { assignmentContract } from './assignments.ts';
import { attemptContract } from './attempts.ts';
import { auditContract, auditPageContract } from './audit.ts';
import { changeContract } from './changes.ts';
import { clientListContract, clientSecretContract } from './client-lists-and-secrets.ts';
import { clientSearchContract } from './client-searches.ts';
import { clientContract } from './clients.ts';
import { consentContract } from './consents.ts';
import { credentialContract } from './credentials.ts';
import { endContract } from './ends.ts';
import { grantContract } from './grants.ts';
import { idempotencyContract, leaseContract } from './idempotency.ts';
import { keyContract } from './keys.ts';
import { diagnosisContract, pruneContract } from './prune.ts';
import { redemptionContract } from './redemption.ts';
import { revocationContract } from './revocations.ts';
import { aClient } from './rows.ts';
import { userDataContract } from './user-data.ts';
import { sessionContract } from './sessions.ts';
import type { RegisterTest } from '../../lib/testing/test-runner.ts';
import type { StorageTest } from './store-tests.ts';

/**
 * Registers the tests that a storage has to pass: of each method, and of the guarantees under concurrent calls.
 *
 * @param makeStorage - opens an empty storage for one test, before any `migrate()`. The suite closes it.
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
  clientSearchContract(onStorage);
  clientSecretContract(onStorage);
  consentContract(onStorage);
  endContract(onStorage);
  grantContract(onStorage);
  credentialContract(onStorage);
  redemptionContract(onStorage);
  userDataContract(onStorage);
  revocationContract(onStorage);
  sessionContract(onStorage);
  keyContract(onStorage);
  assignmentContract(onStorage);
  auditContract(onStorage);
  auditPageContract(onStorage);
  idempotencyContract(onStorage);
  leaseContract(onStorage);
  attemptContract(onStorage);
  assertionContract(onStorage);
  transactionContract(onStorage);
  pruneContract(onStorage);
  diagnosisContract(onStorage);
  changeContract(onStorage);
}

function migrationContract(test: StorageTest): void {
  test('durable: is a boolean, the same before and after migrate()', async (t, storage) => {
    t.is(typeof storage.durable, 'boolean');
    const { durable } = storage;
    await storage.migrate();
    t.is(storage.durable, durable);
  });

  test('migrate() leaves no migration pending and, called again, keeps the stored rows', async (t, storage) => {
    await storage.migrate();
    t.deepEqual(await storage.pendingMigrations(), []);
    await storage.clients.insert(aClient(), []);
    await storage.migrate();
    t.deepEqual((await storage.clients.find(aClient().id))?.client, aClient());
  });

  test('migrate() called three times at once succeeds', async (t, storage) => {
    await Promise.all([storage.migrate(), storage.migrate(), storage.migrate()]);
    t.deepEqual(await storage.pendingMigrations(), []);
  });

  test('before migrate(), methods reject with ERR_MIGRATIONS_PENDING if a migration is pending', async (t, storage) => {
    const pending = await storage.pendingMigrations();
    if (pending.length === 0) {
      t.is(await storage.clients.find('unknown'), undefined);
      return;
    }
    await t.throwsAsync(storage.clients.find('unknown'), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.clients.insert(aClient(), []), { code: 'ERR_MIGRATIONS_PENDING' });
    await t.throwsAsync(storage.prune(0, 10), { code: 'ERR_MIGRATIONS_PENDING' });
    t.deepEqual(await storage.pendingMigrations(), pending);
  });
}

function transactionContract(test: StorageTest): void {
  test('transaction: resolves to the result of the callback, which is called once', async (t, storage) => {
    let runs = 0;
    const result = await storage.transaction(async () => {
      runs += 1;
      return 'done';
    });
    t.deepEqual({ result, runs }, { result: 'done', runs: 1 });
    t.is(await storage.transaction(async () => {}), undefined);
  });

  test('transaction: rejects with the very value that the callback throws', async (t, storage) => {
    for (const thrown of [
      new TypeError('mine'),
      Object.assign(new Error('busy'), { code: 'SQLITE_BUSY' }),
      'text',
    ]) {
      let runs = 0;
      const caught = await storage
        .transaction(async () => {
          runs += 1;
          throw thrown;
        })
        .catch((error: unknown) => ({ error }));
      t.deepEqual({ caught, runs }, { caught: { error: thrown }, runs: 1 });
    }
    await storage.clients.insert(aClient(), []);
    t.deepEqual((await storage.clients.find(aClient().id))?.client, aClient());
  });

  test('transaction: thirty at once and other calls at the same time all succeed', async (t, storage) => {
    const numbers = Array.from({ length: 30 }, (_, index) => index);
    const results = await Promise.all(
      numbers.map(async (number) => {
        const [result] = await Promise.all([
          storage.transaction(async () => number),
          storage.clients.insert(aClient({ id: `${number}` }), []),
          storage.clients.find('unknown'),
        ]);
        return result;
      }),
    );
    t.deepEqual(results, numbers);
    t.is((await storage.clients.list({ limit: 100 })).length, 30);
  });
}
