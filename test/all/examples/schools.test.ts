import { loadImage } from '@napi-rs/canvas';
import test from '../../harness/test.ts';
import { PdfClient, pdfText } from 'koa-gatehouse/pdf';

import { startPdfService } from '../../../examples/pdf-service/service.ts';
import { needsChromium } from '../browser/chromium.ts';
import { postJson, send } from '../../harness/requests.ts';
import { shared } from '../../harness/shared.ts';
import { serveExample } from '../../examples/served-example.ts';
import { clientToken, userToken } from '../../examples/tokens.ts';

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const [importer, monitor, ada, ruth] = await Promise.all([
    clientToken(announced, 'Nightly import'),
    clientToken(announced, 'Status monitor'),
    userToken(announced, 'ada@platform.example'),
    userToken(announced, 'ruth@platform.example'),
  ]);
  return { announced, importer, monitor, ada, ruth };
});

const chromiumTest = needsChromium();

interface School {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  readonly open: boolean;
}

async function get(path: string, token?: string) {
  const { ruth, announced } = await started();
  const { status, body } = await send(`${announced.base_url}/api/v1${path}`, {
    headers: { authorization: `Bearer ${token ?? ruth}` },
  });
  return { status, body: body as { data: School[]; next: string | null } & Record<string, unknown> };
}

async function post(path: string, input: object, token?: string) {
  const { ada, announced } = await started();
  const { status, body } = await postJson(`${announced.base_url}/api/v1/actions/school${path}`, input, {
    authorization: `Bearer ${token ?? ada}`,
  });
  return { status, body: body as { data: School } & Record<string, unknown> };
}

async function renameAll(items: readonly object[], dryRun = false) {
  const { importer } = await started();
  return post('/rename-school-action/bulk', { mode: 'atomic', dryRun, items }, importer);
}

async function getLetter(id: string, query: string = '', token?: string): Promise<Response> {
  const { ruth, announced } = await started();
  const headers = { authorization: `Bearer ${token ?? ruth}` };
  return fetch(`${announced.base_url}/api/v1/schools/${id}/letter${query}`, { headers });
}

/** The names of the schools that a search returns. */
async function search(text: string): Promise<string[]> {
  const { body } = await get(`/schools?search=${encodeURIComponent(text)}`);
  return body.data.map(({ name }) => name);
}

/** Creates schools in a city that no other test uses. */
async function create(city: string, names: readonly string[]): Promise<School[]> {
  const items = names.map((name) => ({ input: { name, city } }));
  const { body } = await post('/create-school-action/bulk', { mode: 'atomic', items });
  const { results } = body.data as unknown as { results: { output: School }[] };
  return results.map(({ output }) => output);
}

test('permissions decide on actions, for user tokens and client tokens', async (t) => {
  const { ada, importer, ruth, monitor } = await started();
  const runs = async (token: string) => (await get('/actions', token)).body.data.map(({ name }) => name);
  t.deepEqual(await runs(ada), [
    'list-schools-action',
    'create-school-action',
    'rename-school-action',
    'close-school-action',
  ]);
  t.deepEqual(await runs(importer), ['list-schools-action', 'create-school-action', 'rename-school-action']);
  t.deepEqual(await runs(ruth), ['list-schools-action']);
  const refused = await post('/harbour/close-school-action', {}, importer);
  t.is(refused.status, 403);
  t.is(refused.body['message'], 'Missing permission to close schools.');
  t.is((await post('/create-school-action', { name: 'A', city: 'B' }, ruth)).status, 403);
  t.is((await get('/schools', monitor)).status, 403);
});

test('a school that takes no new pupils is changed only by those who may close schools', async (t) => {
  const { importer } = await started();
  const input = { name: 'Alder Lane', city: 'Cork', open: false };
  t.like(await post('/create-school-action', input, importer), {
    status: 403,
    body: { code: 'missing_permission', message: 'Missing permission to edit schools.' },
  });
  const { body, status } = await post('/create-school-action', input);
  t.is(status, 200);
  const rename = `/${body.data.id}/rename-school-action`;
  t.is((await post(rename, { name: 'Alder Road' }, importer)).status, 403);
  t.like(await post(rename, { name: 'Alder Road' }), { status: 200, body: { data: { name: 'Alder Road' } } });
  t.deepEqual(await search('Alder'), ['Alder Road']);
});

test('a person and an app create schools and rename them', async (t) => {
  const { ada, importer } = await started();
  for (const token of [ada, importer]) {
    const created = await post('/create-school-action', { name: 'Elm Park', city: 'Leeds' }, token);
    t.is(created.status, 200);
    const { id } = created.body.data;
    t.deepEqual(created.body.data, { id, name: 'Elm Park', city: 'Leeds', open: true });
    const renamed = await post(`/${id}/rename-school-action`, { name: 'Elm Park Primary' }, token);
    t.deepEqual(renamed.body.data, { id, name: 'Elm Park Primary', city: 'Leeds', open: true });
  }
});

test('a school can be closed once', async (t) => {
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

test('invalid input is refused, also where only the database would fail', async (t) => {
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

test('an atomic bulk changes all schools or none', async (t) => {
  const [first, second] = await create('Atomic', ['One', 'Two']);
  const items = [first!, second!].map(({ id }, index) => ({ id, input: { name: `New ${index}` } }));
  const nowhere = { id: 'nowhere', input: { name: 'New' } };
  t.is((await renameAll([...items, nowhere])).status, 404);
  t.deepEqual(await search('atomic'), ['One', 'Two']);
  t.is((await renameAll(items, true)).status, 200);
  t.deepEqual(await search('atomic'), ['One', 'Two']);
  t.is((await renameAll(items)).status, 200);
  t.deepEqual(await search('atomic'), ['New 0', 'New 1']);
});

test('schools are listed in pages, each of them once', async (t) => {
  const names = ['B', 'A', 'D', 'C', 'A', 'E', 'A'];
  const schools = await create('Pages', names);
  for (const [sort, expected] of [
    ['name', names.toSorted()],
    ['-name', names.toSorted().toReversed()],
  ] as const) {
    for (const limit of [2, 7]) {
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
      const found = seen.map(({ name }) => name);
      t.deepEqual(found, expected);
      t.deepEqual(seen.map(({ id }) => id).toSorted(), schools.map(({ id }) => id).toSorted());
    }
  }
});

test('schools are searched by name and city, case-insensitively, without wildcards', async (t) => {
  await create('100% Ort', ['Under_score', 'Underscore', 'Bang!']);
  t.deepEqual((await search('0% ORT')).toSorted(), ['Bang!', 'Under_score', 'Underscore']);
  t.deepEqual(await search('R_S'), ['Under_score']);
  t.deepEqual(await search('bang!'), ['Bang!']);
  t.deepEqual(await search("'; drop table schools; --"), []);
  t.is((await search('%')).length, 3, 'no wildcard');
  t.deepEqual(await search('school that is not there'), []);
});

test('an invalid query is 422 with the remedy', async (t) => {
  const { body: page } = await get('/schools?limit=1');
  const nul = Buffer.from('["name","a\\u0000","b"]').toString('base64url');
  const limit = 'give limit as a number from 1 to 100';
  const text = 'give search at most 100 characters, and no control characters';
  const after = 'give after as the previous page returned it, with the same sort';
  for (const [query, remedy] of [
    ['limit=0', limit],
    ['limit=101', limit],
    ['limit=ten', limit],
    ['limit=1&limit=2', limit],
    ['sort=password', 'give sort as name, -name, city, -city'],
    ['sort=', 'give sort as name, -name, city, -city'],
    [`search=${'a'.repeat(101)}`, text],
    ['search=%00', text],
    ['search=a%0Ab', text],
    ['after=x', after],
    [`sort=-name&after=${page.next}`, after],
    [`after=${nul}`, after],
    ['serch=x', 'there is no parameter serch'],
    ['__proto__=x', 'there is no parameter __proto__'],
  ] as const) {
    const { status, body } = await get(`/schools?${query}`);
    t.is(status, 422, query);
    t.is(body['code'], 'query_invalid');
    t.is(body['message'], `The query is wrong: ${remedy}.`);
  }
});

test('the OpenAPI document has the platform’s own routes, and needs no token', async (t) => {
  const { announced } = await started();
  const { body } = await send(`${announced.base_url}/api/v1/openapi.json`);
  for (const path of ['/schools', '/schools/{id}/letter']) t.true(path in (body as { paths: object }).paths);
  t.true((await send(`${announced.base_url}/api/v1/docs`)).text.includes('Larkfield Schools'));
});

chromiumTest('the letter of a school is a PDF, which the PDF client takes apart and renders', async (t) => {
  const [school] = await create('Letters', ['<script>alert(1)</script> & "Sons"']);
  const response = await getLetter(school!.id, '?format=Letter');
  t.is(response.status, 200);
  const { headers } = response;
  t.is(headers.get('content-type'), 'application/pdf');
  t.is(headers.get('content-disposition'), `inline; filename="enrolment-letter-${school!.id}.pdf"`);
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('cache-control'), 'no-store');

  const letter = { data: await response.bytes(), filename: 'letter.pdf' };
  const service = await startPdfService({ port: 0, workers: 1 });
  try {
    const client = new PdfClient({ baseUrl: service.url });
    const tree = await client.extract(letter);
    t.is(tree.title, 'Enrolment letter: <script>alert(1)</script> & "Sons"');
    t.is(tree['number of pages'], 1);
    t.regex(
      pdfText(tree).replaceAll(/\s+/g, ' '),
      /Enrolment letter School <script>alert\(1\)<\/script> & "Sons" City Letters The school takes new pupils/,
    );
    const { data } = await client.render(letter, { page: 1, format: 'png', width: 850 });
    const { width, height } = await loadImage(Buffer.from(data));
    t.deepEqual({ width, height }, { width: 850, height: 1100 }, '8.5 by 11 inches');
  } finally {
    await service.stop();
  }
});

test('a letter that there is not, and who may not have one', async (t) => {
  const { ruth, monitor } = await started();
  const formats =
    'The query is wrong: give format as one of a0, a1, a2, a3, a4, a5, a6, letter, legal, tabloid, ledger.';
  for (const [id, query, token, status, code, message] of [
    ['%00', '', ruth, 404, 'school_not_found', 'There is no school with this id.'],
    ['nowhere', '', ruth, 404, 'school_not_found', 'There is no school with this id.'],
    ['harbour', '?format=b5', ruth, 422, 'query_invalid', formats],
    ['harbour', '?paper=a4', ruth, 422, 'query_invalid', 'The query is wrong: there is no parameter paper.'],
    ['harbour', '', monitor, 403, 'missing_permission', 'Missing permission to view schools.'],
  ] as const) {
    const response = await getLetter(id, query, token);
    t.is(response.status, status);
    t.is(response.headers.get('content-type'), 'application/problem+json; charset=utf-8');
    t.like(await response.json(), { code, message });
  }
});

chromiumTest('more letters than the queue takes are refused at once, and the others are made', async (t) => {
  const responses = await Promise.all(Array.from({ length: 20 }, async () => getLetter('harbour')));
  const refused = responses.filter(({ status }) => status === 503);
  const made = responses.filter(({ status }) => status === 200);
  t.is(made.length + refused.length, 20);
  t.true(made.length >= 12, 'two at a time, and ten wait');
  t.true(refused.length > 0);
  t.is(refused[0]!.headers.get('retry-after'), '5');
  t.like(await refused[0]!.json(), { code: 'temporarily_unavailable' });
});
