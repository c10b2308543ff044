import type { Client, ClientQuery, ClientStore } from '../../lib/contracts/index.ts';
import { aClient, NOW } from './rows.ts';
import { testsOf } from './store-tests.ts';
import type { StorageTest } from './store-tests.ts';

export function clientSearchContract(register: StorageTest): void {
  const test = testsOf(register, 'clients');

  test('clients: a search finds names with a word that begins with it, without case', async (t, clients) => {
    const names = [
      '100% School',
      'School_Ärzte',
      'SCHOOLYARD',
      'Other!',
      'back\\slash',
      "O'Brien",
      'PlaySchool',
    ];
    for (const client of named(...names)) await clients.insert(client, []);
    const search = namesFound(clients);
    t.deepEqual(await search('school'), ['100% School', 'PlaySchool', 'School_Ärzte', 'SCHOOLYARD']);
    t.deepEqual(await search(' SCHOOL_ä '), ['School_Ärzte']);
    t.deepEqual(await search('ärz'), ['School_Ärzte']);
    t.deepEqual(await search('100% s'), ['100% School']);
    t.deepEqual(await search('slash'), ['back\\slash']);
    t.deepEqual(await search("o'b"), ["O'Brien"]);
    t.deepEqual(await search('brien'), ["O'Brien"]);
    t.deepEqual(await search('play'), ['PlaySchool']);
    // A part of a word, wildcards of SQL, and what no row can have.
    for (const text of ['chool', 'yard', '%', '_', 's%l', 'schoo_', '!', 'x'.repeat(100_000), 'School\0'])
      t.deepEqual(await search(text), [], text.slice(0, 20));
  });

  test('clients: a search over several words finds names that continue with them', async (t, clients) => {
    for (const client of named('My School Reports', 'School Reports Two', 'School of Reports'))
      await clients.insert(client, []);
    const search = namesFound(clients);
    t.deepEqual(await search('school rep'), ['My School Reports', 'School Reports Two']);
    t.deepEqual(await search('reports school'), []);
  });

  test('clients: a search compares compatible characters, and each one of scripts without spaces', async (t, clients) => {
    for (const client of named('Ｓｃｈｏｏｌ', '学校時間割', 'ตารางเรียน', 'Été', 'İzmir'))
      await clients.insert(client, []);
    const search = namesFound(clients);
    t.deepEqual(await search('school'), ['Ｓｃｈｏｏｌ']);
    t.deepEqual(await search('時間'), ['学校時間割']);
    t.deepEqual(await search('เรียน'), ['ตารางเรียน']);
    t.deepEqual(await search('E\u0301TE'), []);
    t.deepEqual(await search('E\u0301TE\u0301'), ['Été']);
    t.deepEqual(await search('İZ'), ['İzmir']);
  });

  test('clients: a search compares the first 30 words, and long names and ids can be stored', async (t, clients) => {
    const words = Array.from({ length: 40 }, (_, index) => `w${index}`);
    // One character that is compared as 18, and pairs of UTF-16 units.
    const names = [words.join(' '), '\u{FDFA}'.repeat(100), '🎒'.repeat(255), `a${'🎒'.repeat(60)}`];
    for (const [index, name] of names.entries())
      await clients.insert(
        aClient({ id: `${'🎒'.repeat(250)}${index}`, name, ownerId: '🎒'.repeat(255) }),
        [],
      );
    const search = namesFound(clients);
    t.deepEqual(await search('w29'), [names[0]]);
    t.deepEqual(await search('w31'), []);
    t.deepEqual(await search('\u{FDFA}'), [names[1]]);
    t.deepEqual(await search('🎒🎒'), [names[2]]);
    t.deepEqual(await search('a🎒'), [names[3]]);
    t.is((await clients.list({ ownerId: '🎒'.repeat(255) })).length, 4);
  });

  test('clients: a search lists each client once, page after page', async (t, clients) => {
    const names = ['Test', 'test', 'Test test testing', 'A test', 'Testing tests', 'A test', 'Tool', 'Test'];
    for (const client of named(...names)) await clients.insert(client, []);
    for (const [search, count] of Object.entries({ test: 7, t: 8, a: 2 })) {
      for (const limit of [1, 2, 3, 8]) {
        const ids = await allPages(clients, { search, limit });
        t.is(ids.length, count, `${search}, ${limit} a page`);
        t.is(new Set(ids).size, count);
        t.deepEqual(ids, await allPages(clients, { search, limit: 200 }));
      }
    }
  });

  test('clients: a search for a whole client id lists that client first', async (t, clients) => {
    await clients.insert(aClient({ id: '3', name: 'Third', ownerId: 'ann' }), []);
    await clients.insert(aClient({ id: '4', name: '3 apps', ownerId: 'ann' }), []);
    await clients.insert(aClient({ id: '5', name: '3 more', ownerId: 'bob' }), []);
    await clients.insert(aClient({ id: 'own', name: 'Own', ownerId: 'bob' }), []);
    const ids = async (query: ClientQuery) => idsOf(await clients.list(query));
    t.deepEqual(await ids({ search: '3' }), ['3', '4', '5']);
    t.deepEqual(await allPages(clients, { search: '3', limit: 1 }), ['3', '4', '5']);
    t.deepEqual(await ids({ search: '3', ownerId: 'ann' }), ['3', '4']);
    t.deepEqual(await ids({ search: '3', ownerId: 'bob' }), ['5']);
    // Its own name begins with its id.
    t.deepEqual(await ids({ search: 'own' }), ['own']);
    t.deepEqual(await ids({ search: 'ow' }), ['own']);
    t.deepEqual(await ids({ search: 'OWN' }), ['own']);
    t.deepEqual(await allPages(clients, { search: 'own', limit: 1 }), ['own']);
  });

  test('clients: a search finds a client by its present name and owner only', async (t, clients) => {
    const ids = async (search: string, ownerId?: string) => idsOf(await clients.list({ search, ownerId }));
    await clients.insert(aClient({ id: 'a', name: 'Old Reports', ownerId: 'ann' }), []);
    const renamed = aClient({ id: 'a', name: 'New Reports', ownerId: 'bob', updatedAt: NOW + 1 });
    t.false(await clients.update(renamed, NOW - 1));
    t.deepEqual([await ids('old', 'ann'), await ids('new')], [['a'], []]);
    t.true(await clients.update(renamed, NOW));
    t.deepEqual([await ids('old'), await ids('reports', 'ann'), await ids('new', 'bob')], [[], [], ['a']]);
    // An update of other fields.
    t.true(await clients.update({ ...renamed, disabled: true }));
    t.deepEqual(await ids('reports', 'bob'), ['a']);
    t.true(await clients.update({ ...renamed, ownerId: undefined }));
    t.deepEqual([await ids('reports', 'bob'), await ids('reports')], [[], ['a']]);

    t.true(await clients.delete('a'));
    t.deepEqual(await ids('reports'), []);
    await clients.insert(aClient({ id: 'a', name: 'Other' }), []);
    t.deepEqual([await ids('reports'), await ids('other')], [[], ['a']]);
    await t.throwsAsync(clients.insert(aClient({ id: 'a', name: 'Second' }), []), { code: 'ERR_STORAGE' });
    t.deepEqual(await ids('second'), []);
  });

  test('clients: after a client that the search does not find any more, the page is empty', async (t, clients) => {
    for (const client of named('Reports', 'Reports', 'Reports')) await clients.insert(client, []);
    const query = { search: 'rep', after: 'client-0' };
    t.deepEqual(idsOf(await clients.list(query)), ['client-1', 'client-2']);
    await clients.update(aClient({ id: 'client-0', name: 'Other' }));
    t.deepEqual(await clients.list(query), []);
    await clients.delete('client-0');
    for (const gone of [query, { after: 'client-0' }, { ...query, after: 'a\0' }])
      t.deepEqual(await clients.list(gone), []);
  });

  test('clients: of changes of a name at once, a search finds the one that is stored', async (t, clients) => {
    for (let round = 0; round < 5; round += 1) {
      await clients.insert(aClient({ name: 'First' }), []);
      const ways = Array.from({ length: 8 }, (_, index) =>
        index === 7 && round % 2 === 1
          ? clients.delete(aClient().id)
          : clients.update(aClient({ name: `Name${index} word${index}`, updatedAt: NOW + index })),
      );
      await Promise.all(ways);
      const name = (await clients.find(aClient().id))?.client.name;
      for (const text of [
        'first',
        ...Array.from({ length: 8 }, (_, index) => [`name${index}`, `word${index}`]).flat(),
      ]) {
        const isOf = name?.toLowerCase().includes(text) === true;
        t.is((await clients.list({ search: text })).length, isOf ? 1 : 0, `${text} of ${name}`);
      }
      await clients.delete(aClient().id);
      await clients.insert(aClient({ name: 'Later' }), []);
      t.deepEqual(await clients.list({ search: 'name' }), []);
      await clients.delete(aClient().id);
    }
  });
}

/** Finds the names of clients. */
function namesFound(clients: ClientStore): (search: string) => Promise<string[]> {
  return async (search) => namesOf(await clients.list({ search }));
}

async function allPages(clients: ClientStore, query: ClientQuery): Promise<string[]> {
  const ids: string[] = [];
  for (;;) {
    const page = await clients.list({ ...query, after: ids.at(-1) });
    if (page.length === 0) return ids;
    ids.push(...idsOf(page));
  }
}

/** Clients with these names. */
export function named(...names: string[]): Client[] {
  return names.map((name, index) => aClient({ id: `client-${index}`, name }));
}

export function namesOf(clients: readonly Client[]): string[] {
  return clients.map(({ name }) => name);
}

function idsOf(clients: readonly Client[]): string[] {
  return clients.map(({ id }) => id);
}
