import type { Client } from '../../contracts.ts';
import { aClient } from './rows.ts';
import type { StorageTest } from './storage-test.ts';

export function clientListContract(test: StorageTest): void {
  test('clients: list is ordered by name, then by id', async (t, { clients }) => {
    for (const client of named('Zoo', 'apple', 'Mango', 'mango')) await clients.insert(client, []);
    t.deepEqual(namesOf(await clients.list({})), ['apple', 'Mango', 'mango', 'Zoo']);
  });

  test('clients: list finds a part of a name in any case, and takes every character as itself', async (t, {
    clients,
  }) => {
    const names = ['100% School', 'School_Ärzte', 'SCHOOLYARD', 'Other!', 'back\\slash', "O'Brien"];
    for (const client of named(...names)) await clients.insert(client, []);
    const search = async (text: string) => namesOf(await clients.list({ search: text }));
    t.deepEqual(await search('school'), ['100% School', 'School_Ärzte', 'SCHOOLYARD']);
    t.deepEqual(await search('ärz'), ['School_Ärzte']);
    t.deepEqual(await search('%'), ['100% School']);
    t.deepEqual(await search('l_'), ['School_Ärzte']);
    t.deepEqual(await search('!'), ['Other!']);
    t.deepEqual(await search('\\'), ['back\\slash']);
    t.deepEqual(await search("o'b"), ["O'Brien"]);
    t.deepEqual(await search('x'.repeat(100_000)), []);
    t.deepEqual(await search('School\0'), []);
  });

  test('clients: list goes on after the last client of the page before', async (t, { clients }) => {
    for (const client of named('b', 'a', 'B', 'c', 'A')) await clients.insert(client, []);
    const first = await clients.list({ limit: 2 });
    const second = await clients.list({ limit: 2, after: first.at(-1)?.id });
    const third = await clients.list({ limit: 2, after: second.at(-1)?.id });
    t.deepEqual(namesOf([...first, ...second, ...third]), ['a', 'A', 'b', 'B', 'c']);
    t.deepEqual(await clients.list({ after: third.at(-1)?.id }), []);
  });

  test('clients: list gives fifty unless told otherwise', async (t, { clients }) => {
    const many = Array.from({ length: 51 }, (_, index) => `app ${index}`);
    for (const client of named(...many)) await clients.insert(client, []);
    t.is((await clients.list({})).length, 50);
    t.is((await clients.list({ limit: 51 })).length, 51);
  });

  test('clients: list of an owner, searched', async (t, { clients }) => {
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

function named(...names: string[]): Client[] {
  return names.map((name, index) => aClient({ id: `client-${index}`, name }));
}

function namesOf(clients: readonly Client[]): string[] {
  return clients.map(({ name }) => name);
}
