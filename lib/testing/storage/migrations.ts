import { aClient } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function migrationContract(test: StorageTest): void {
  test('durable: says whether what is kept outlives the process, before migrate() too', async (t, storage) => {
    t.is(typeof storage.durable, 'boolean');
    const { durable } = storage;
    await storage.migrate();
    t.is(storage.durable, durable);
  });

  test('migrate() leaves nothing pending, and what is stored survives another one', async (t, storage) => {
    await storage.migrate();
    t.deepEqual(await storage.pendingMigrations(), []);
    await storage.clients.insert(aClient(), []);
    await storage.migrate();
    t.deepEqual((await storage.clients.find(aClient().id))?.client, aClient());
  });

  test('migrate() by several callers at once', async (t, storage) => {
    await Promise.all([storage.migrate(), storage.migrate(), storage.migrate()]);
    t.deepEqual(await storage.pendingMigrations(), []);
  });

  test('before migrate(), a storage that needs it says which migrations it lacks', async (t, storage) => {
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
