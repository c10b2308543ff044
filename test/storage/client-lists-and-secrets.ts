import { named, namesOf } from './client-searches.ts';
import { aClient, aSecret, HOUR, LOOKALIKES, NOW } from './rows.ts';
import { onlyOneOf, testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function clientSecretContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  const { id } = aClient();

  test('clients: addSecret keeps the other secrets, and deleteSecret deletes one of them', async (t, clients) => {
    await clients.insert(aClient(), [aSecret({ id: 'old' })]);
    const added = aSecret({ id: 'new', createdAt: NOW + 1 });
    t.true(await clients.addSecret(id, added));
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ id: 'old' }), added]);
    t.true(await clients.deleteSecret(id, 'old'));
    t.false(await clients.deleteSecret(id, 'old'));
    t.deepEqual((await clients.find(id))?.secrets, [added]);
  });

  test('clients: addSecret returns false and stores nothing for a client that does not exist', async (t, clients) => {
    t.false(await clients.addSecret('gone', aSecret()));
    await clients.insert(aClient({ id: 'gone' }), []);
    t.deepEqual((await clients.find('gone'))?.secrets, []);
  });

  test('clients: deleteSecret deletes nothing when the secret belongs to another client', async (t, clients) => {
    await clients.insert(aClient(), [aSecret()]);
    await clients.insert(aClient({ id: 'other' }), []);
    t.false(await clients.deleteSecret('other', aSecret().id));
    for (const other of ['', 'a\0', '\u{D800}', 'x'.repeat(100_000)]) {
      t.false(await clients.deleteSecret(aClient().id, other));
      t.false(await clients.deleteSecret(other, aSecret().id));
    }
    t.deepEqual((await clients.find(id))?.secrets, [aSecret()]);
  });

  test('clients: expireSecret sets the end of a secret and never moves it to a later time', async (t, clients) => {
    await clients.insert(aClient(), [aSecret({ id: 'a' }), aSecret({ id: 'b', expiresAt: NOW + 5 })]);
    for (const secretId of ['a', 'b', 'unknown']) await clients.expireSecret(id, secretId, NOW + 9);
    await clients.expireSecret('unknown', 'a', NOW + 1);
    const expiries = async (): Promise<unknown> =>
      (await clients.find(id))?.secrets.map(({ expiresAt }) => expiresAt);
    t.deepEqual(await expiries(), [NOW + 9, NOW + 5]);
    await clients.expireSecret(id, 'a', NOW + 3);
    t.deepEqual(await expiries(), [NOW + 3, NOW + 5]);
  });

  test('clients: touchSecret stores the time of the last use', async (t, clients) => {
    await clients.insert(aClient(), [aSecret()]);
    await clients.touchSecret(id, aSecret().id, NOW + 5);
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ lastUsedAt: NOW + 5 })]);
    await clients.touchSecret(id, 'unknown', NOW + 6);
    await clients.touchSecret('unknown', aSecret().id, NOW + 6);
    t.deepEqual((await clients.find(id))?.secrets, [aSecret({ lastUsedAt: NOW + 5 })]);
  });

  test('clients: rehashSecret replaces a hash only if it is the given one', async (t, clients) => {
    const imported = aSecret({ hash: '$2b$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy' });
    await clients.insert(aClient(), [imported, aSecret({ id: 'other', createdAt: NOW + 1 })]);
    const to = aSecret().hash;
    const rehash = async (from: string) => clients.rehashSecret(id, imported.id, { from, to });
    for (const from of ['', imported.hash.toLowerCase(), `${imported.hash} `, to]) {
      t.false(await rehash(from), from);
    }
    t.false(await clients.rehashSecret('unknown', imported.id, { from: imported.hash, to }));
    t.false(await clients.rehashSecret(id, 'unknown', { from: imported.hash, to }));
    t.is((await clients.find(id))?.secrets[0]?.hash, imported.hash);
    t.true(await rehash(imported.hash));
    t.false(await rehash(imported.hash));
    t.deepEqual((await clients.find(id))?.secrets, [
      { ...imported, hash: to },
      aSecret({ id: 'other', createdAt: NOW + 1 }),
    ]);
  });

  test('clients: of twenty calls of rehashSecret for one hash at once, exactly one returns true', async (t, clients) => {
    await clients.insert(aClient(), [aSecret({ hash: 'imported' })]);
    const winner = await onlyOneOf(t, 20, async (index) =>
      clients.rehashSecret(id, aSecret().id, { from: 'imported', to: `hash ${index}` }),
    );
    t.is((await clients.find(id))?.secrets[0]?.hash, `hash ${winner}`);
  });
}

export function clientListContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  test('clients: list is ordered by name, then by id', async (t, clients) => {
    for (const client of named('Zoo', 'apple', 'Mango', 'mango')) await clients.insert(client, []);
    t.deepEqual(namesOf(await clients.list({})), ['apple', 'Mango', 'mango', 'Zoo']);
  });

  test('clients: list continues after the last client of the previous page', async (t, clients) => {
    for (const client of named('b', 'a', 'B', 'c', 'A')) await clients.insert(client, []);
    const first = await clients.list({ limit: 2 });
    const second = await clients.list({ limit: 2, after: first.at(-1)?.id });
    const third = await clients.list({ limit: 2, after: second.at(-1)?.id });
    t.deepEqual(namesOf([...first, ...second, ...third]), ['a', 'A', 'b', 'B', 'c']);
    t.deepEqual(await clients.list({ after: third.at(-1)?.id }), []);
  });

  test('clients: list returns fifty clients when no limit is given', async (t, clients) => {
    const many = Array.from({ length: 51 }, (_, index) => `app ${index}`);
    for (const client of named(...many)) await clients.insert(client, []);
    t.is((await clients.list({})).length, 50);
    t.is((await clients.list({ limit: 51 })).length, 51);
  });

  test('clients: list filters by owner and by name together', async (t, clients) => {
    await clients.insert(aClient({ id: '1', name: 'One', ownerId: 'ann' }), []);
    await clients.insert(aClient({ id: '2', name: 'Two', ownerId: 'ann' }), []);
    await clients.insert(aClient({ id: '3', name: 'Two', ownerId: 'Ann' }), []);
    await clients.insert(aClient({ id: '4', name: 'Two' }), []);
    const ids = async (query: object) => (await clients.list(query)).map(({ id }) => id);
    t.deepEqual(await ids({ ownerId: 'ann' }), ['1', '2']);
    t.deepEqual(await ids({ ownerId: 'ann', search: 'tw' }), ['2']);
    t.deepEqual(await ids({ ownerId: 'ann', after: '1' }), ['2']);
  });
}

export function assertionContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  test('assertions: redeemAssertion returns true once for each id, also with another expiry', async (t, clients) => {
    t.true(await clients.redeemAssertion('a', NOW + HOUR));
    t.false(await clients.redeemAssertion('a', NOW + HOUR));
    t.false(await clients.redeemAssertion('a', NOW + 2 * HOUR));
    t.true(await clients.redeemAssertion('b', NOW + HOUR));
  });

  test('assertions: of a hundred calls of redeemAssertion at once, exactly one returns true', async (t, clients) => {
    await onlyOneOf(t, 100, async (index) => clients.redeemAssertion('a', NOW + index));
  });

  test('assertions: an id is used until prune deletes it after its expiry', async (t, clients, storage) => {
    await clients.redeemAssertion('past', NOW - 1);
    await clients.redeemAssertion('now', NOW);
    t.false(await clients.redeemAssertion('past', NOW + HOUR));
    t.is(await storage.prune(NOW, 100), 1);
    t.true(await clients.redeemAssertion('past', NOW + HOUR));
    t.false(await clients.redeemAssertion('now', NOW + HOUR));
  });

  test('assertions: ids are compared exactly', async (t, clients) => {
    t.true(await clients.redeemAssertion('Id', NOW + HOUR));
    for (const id of LOOKALIKES) t.true(await clients.redeemAssertion(id, NOW + HOUR), id);
  });
}
