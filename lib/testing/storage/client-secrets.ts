import { aClient, aSecret, NOW } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function clientSecretContract(test: StorageTest): void {
  const { id } = aClient();

  test('clients: several secrets live at once, and one is removed without the other', async (t, {
    clients,
  }) => {
    await clients.insert(aClient(), [aSecret({ id: 'old' })]);
    const added = aSecret({ id: 'new', createdAt: NOW + 1 });
    t.true(await clients.addSecret(id, added));
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ id: 'old' }), added]);
    t.true(await clients.removeSecret(id, 'old'));
    t.false(await clients.removeSecret(id, 'old'));
    t.deepEqual((await clients.find(id))?.secrets, [added]);
  });

  test('clients: a client that is gone gets no secret', async (t, { clients }) => {
    t.false(await clients.addSecret('gone', aSecret()));
    await clients.insert(aClient({ id: 'gone' }), []);
    t.deepEqual((await clients.find('gone'))?.secrets, []);
  });

  test('clients: a secret is removed only from its own client', async (t, { clients }) => {
    await clients.insert(aClient(), [aSecret()]);
    await clients.insert(aClient({ id: 'other' }), []);
    t.false(await clients.removeSecret('other', aSecret().id));
    t.deepEqual((await clients.find(id))?.secrets, [aSecret()]);
  });

  test('clients: touchSecret notes the last use', async (t, { clients }) => {
    await clients.insert(aClient(), [aSecret()]);
    await clients.touchSecret(id, aSecret().id, NOW + 5);
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ lastUsedAt: NOW + 5 })]);
    await clients.touchSecret(id, 'unknown', NOW + 6);
    await clients.touchSecret('unknown', aSecret().id, NOW + 6);
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ lastUsedAt: NOW + 5 })]);
  });
}
