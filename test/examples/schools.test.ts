import test from 'ava';

import { postJson, send } from '../harness/requests.ts';
import { startForScripts, temporaryDirectory } from './running-example.ts';
import { clientToken, userToken } from './tokens.ts';

const directory = await temporaryDirectory();
const example = await startForScripts({ dataDirectory: directory.path });
const { announced } = example;
const [importer, monitor, ada, ruth] = await Promise.all([
  clientToken(announced, 'Nightly import'),
  clientToken(announced, 'Status monitor'),
  userToken(announced, 'ada@platform.example'),
  userToken(announced, 'ruth@platform.example'),
]);

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

interface School {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  readonly open: boolean;
}

async function get(path: string, token = ruth) {
  const { status, body } = await send(`${announced.base_url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  return { status, body: body as { data: School[]; next: string | null } & Record<string, unknown> };
}

async function post(path: string, input: object, token = ada, headers: Record<string, string> = {}) {
  const { status, body } = await postJson(`${announced.base_url}/api/v1/actions/school${path}`, input, {
    authorization: `Bearer ${token}`,
    ...headers,
  });
  return { status, body: body as { data: School } & Record<string, unknown> };
}

async function renameAll(items: readonly object[], dryRun = false) {
  return post('/rename-school-action/bulk', { mode: 'atomic', dryRun, items }, importer);
}

/** The names of the schools that a search finds. */
async function search(text: string): Promise<string[]> {
  const { body } = await get(`/schools?search=${encodeURIComponent(text)}`);
  return body.data.map(({ name }) => name);
}

/** Creates schools in a city of their own, so that no other test sees them. */
async function found(city: string, names: readonly string[]): Promise<School[]> {
  const items = names.map((name) => ({ input: { name, city } }));
  const { body } = await post('/create-school-action/bulk', { mode: 'atomic', items });
  const { results } = body.data as unknown as { results: { output: School }[] };
  return results.map(({ output }) => output);
}

test('who may do what: a user token and a client token, by permission', async (t) => {
  const runs = async (token: string) => (await get('/actions', token)).body.data.map(({ name }) => name);
  t.deepEqual(await runs(ada), ['create-school-action', 'rename-school-action', 'close-school-action']);
  t.deepEqual(await runs(importer), ['create-school-action', 'rename-school-action']);
  t.deepEqual(await runs(ruth), []);
  const refused = await post('/harbour/close-school-action', {}, importer);
  t.is(refused.status, 403);
  t.is(refused.body['message'], 'Missing permission to close schools.');
  t.is((await post('/create-school-action', { name: 'A', city: 'B' }, ruth)).status, 403);
  t.is((await get('/schools', monitor)).status, 403);
});

for (const [who, token] of [
  ['a person', ada],
  ['an app', importer],
] as const) {
  test(`${who} creates a school and renames it`, async (t) => {
    const created = await post('/create-school-action', { name: 'Elm Park', city: 'Leeds' }, token);
    t.is(created.status, 200);
    const { id } = created.body.data;
    t.deepEqual(created.body.data, { id, name: 'Elm Park', city: 'Leeds', open: true });
    const renamed = await post(`/${id}/rename-school-action`, { name: 'Elm Park Primary' }, token);
    t.deepEqual(renamed.body.data, { id, name: 'Elm Park Primary', city: 'Leeds', open: true });
    const { body } = await get('/schools?search=elm%20park%20p&limit=100');
    t.true(body.data.some((school) => school.id === id));
  });
}

test('a school is closed once', async (t) => {
  const { body } = await post('/create-school-action', { name: 'Gone', city: 'Closing' });
  const { id } = body.data;
  const closed = await post(`/${id}/close-school-action`, {});
  t.is(closed.status, 200);
  t.false(closed.body.data.open);
  const again = await post(`/${id}/close-school-action`, {});
  t.is(again.status, 409);
  t.is(again.body['code'], 'school_closed');
  for (const action of ['close-school-action', 'rename-school-action']) {
    const missing = await post(`/nowhere/${action}`, { name: 'A' });
    t.is(missing.status, 404);
    t.is(missing.body['code'], 'school_not_found');
  }
});

test('wrong input is refused, also what only a database would stumble over', async (t) => {
  const city = 'York';
  for (const [input, pointer] of [
    [{ city }, '#/name'],
    [{ city, name: '' }, '#/name'],
    [{ city, name: ' a' }, '#/name'],
    [{ city, name: 'a\nb' }, '#/name'],
    [{ city, name: 'a\u0007b' }, '#/name'],
    [{ city, name: 'a'.repeat(201) }, '#/name'],
    [{ city, name: 7 }, '#/name'],
    [{ name: 'A', city: null }, '#/city'],
    [{ name: 'A', city, open: 'yes' }, '#/open'],
  ] as const) {
    const { status, body } = await post('/create-school-action', input);
    t.is(status, 422);
    t.deepEqual(
      (body['errors'] as { pointer: string }[]).map((error) => error.pointer),
      [pointer],
    );
  }
  const nul = await post('/create-school-action', { city, name: 'a\0b' });
  t.is(nul.status, 400);
  const long = await post('/create-school-action', { city, name: '🏫'.repeat(200) });
  t.is(long.status, 200);
  t.is(long.body.data.name, '🏫'.repeat(200));
});

test('a bulk in one transaction: all, or, in the database too, none', async (t) => {
  const [first, second] = await found('Atomic', ['One', 'Two']);
  const items = [first!, second!].map(({ id }, index) => ({ id, input: { name: `New ${index}` } }));
  const nowhere = { id: 'nowhere', input: { name: 'New' } };
  t.is((await renameAll([...items, nowhere])).status, 404);
  t.deepEqual(await search('atomic'), ['One', 'Two']);
  t.is((await renameAll(items, true)).status, 200);
  t.deepEqual(await search('atomic'), ['One', 'Two']);
  t.is((await renameAll(items)).status, 200);
  t.deepEqual(await search('atomic'), ['New 0', 'New 1']);
});

test('with an Idempotency-Key a school is created once', async (t) => {
  const input = { name: 'Once', city: 'Once' };
  const key = { 'idempotency-key': crypto.randomUUID() };
  const answers = await Promise.all(
    Array.from({ length: 5 }, async () => post('/create-school-action', input, importer, key)),
  );
  t.is(new Set(answers.map(({ body }) => body.data.id)).size, 1);
  t.is((await get('/schools?search=once')).body.data.length, 1);
});

test('schools come a page at a time, and each of them once', async (t) => {
  const names = ['B', 'A', 'D', 'C', 'A', 'E', 'A'];
  const schools = await found('Pages', names);
  for (const [sort, expected] of [
    ['name', names.toSorted()],
    ['-name', names.toSorted().toReversed()],
  ] as const) {
    for (const limit of [1, 2, 3, 7, 8]) {
      const seen: School[] = [];
      let path = `/schools?search=pages&sort=${sort}&limit=${limit}`;
      for (;;) {
        const { status, body } = await get(path);
        t.is(status, 200);
        t.true(body.data.length <= limit);
        seen.push(...body.data);
        if (body.next === null) break;
        path = `${path.replace(/&after=.*/, '')}&after=${body.next}`;
      }
      t.deepEqual(
        seen.map(({ name }) => name),
        [...expected],
      );
      t.deepEqual(seen.map(({ id }) => id).toSorted(), schools.map(({ id }) => id).toSorted());
    }
  }
});

test('schools are searched in name and city, in any case, for the very characters', async (t) => {
  await found('100% Ort', ['Under_score', 'Underscore', 'Bang!']);
  t.deepEqual((await search('0% ORT')).toSorted(), ['Bang!', 'Under_score', 'Underscore']);
  t.deepEqual(await search('R_S'), ['Under_score']);
  t.deepEqual(await search('bang!'), ['Bang!']);
  t.deepEqual(await search("'; drop table schools; --"), []);
  t.is((await search('%')).length, 3, 'no wildcard');
  t.deepEqual(await search('school that is not there'), []);
});

test('a query that is wrong is 422 and says what to give', async (t) => {
  const { body: page } = await get('/schools?limit=1');
  for (const [query, remedy] of [
    ['limit=0', 'give limit as a number from 1 to 100'],
    ['limit=101', 'give limit as a number from 1 to 100'],
    ['limit=ten', 'give limit as a number from 1 to 100'],
    ['limit=1&limit=2', 'give limit as a number from 1 to 100'],
    ['sort=password', 'give sort as name, -name, city, -city'],
    ['sort=', 'give sort as name, -name, city, -city'],
    [`search=${'a'.repeat(101)}`, 'give search at most 100 characters'],
    ['search=%00', 'give search at most 100 characters'],
    ['after=x', 'give after as the previous page returned it, with the same sort'],
    [`sort=-name&after=${page.next}`, 'give after as the previous page returned it, with the same sort'],
    [
      `after=${Buffer.from('["name","a\\u0000","b"]').toString('base64url')}`,
      'give after as the previous page returned it, with the same sort',
    ],
    ['serch=x', 'there is no parameter serch'],
    ['__proto__=x', 'there is no parameter __proto__'],
  ] as const) {
    const { status, body } = await get(`/schools?${query}`);
    t.is(status, 422, query);
    t.is(body['code'], 'query_invalid');
    t.is(body['message'], `The query is wrong: ${remedy}.`);
  }
});

test('the description has the actions and the platform’s own route, and needs no token', async (t) => {
  const { body } = await send(`${announced.base_url}/api/v1/openapi.json`);
  const { paths, servers } = body as unknown as { paths: object; servers: object };
  t.deepEqual(servers, [{ url: `${announced.base_url}/api/v1` }]);
  for (const path of ['/identity', '/schools', '/actions/school/{id}/close-school-action'])
    t.true(path in paths);
  const page = await send(`${announced.base_url}/api/v1/docs`);
  t.is(page.status, 200);
  t.true(page.text.includes('Larkfield Schools'));
});
