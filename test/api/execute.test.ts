import { request as send } from 'node:http';

import test from 'ava';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { ActionError, PermissionMissingError, StorageError } from '../../lib/errors.ts';
import { request } from '../access/serve.ts';
import { serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const CREATE = '/actions/school/create-school-action';

test('a collection-level action creates, an instance-level action updates, and each answers with its output', async (t) => {
  const { create, rename, schools } = schoolActions();
  const { post } = await serveApi(t, { actions: [create, rename] });
  const created = await post(CREATE, { name: 'Hill School' });
  t.is(created.status, 200);
  t.is(created.type, 'application/json; charset=utf-8');
  t.is(created.headers.get('cache-control'), 'no-store');
  t.deepEqual(created.body, { data: { id: '1', name: 'Hill School' } });
  const renamed = await post('/actions/school/1/rename-school-action', { name: 'Valley School' });
  t.is(renamed.status, 200);
  t.deepEqual(
    renamed.body,
    { data: { id: '1', name: 'Valley School' } },
    'without members that the schema does not define',
  );
  t.is(schools.get('1')?.name, 'Valley School');
});

test('run gets the percent-decoded id', async (t) => {
  const ids = ['a/b', 'ü ñ', '..', 'bulk', 'rename-school-action', '%2F', '100%', 'a'.repeat(255)];
  const { rename } = schoolActions(new Map(ids.map((id) => [id, { id, name: 'Old' }])));
  const { post } = await serveApi(t, { actions: [rename] });
  for (const id of ids) {
    // URL parsers resolve "..", also percent-encoded, as the parent folder.
    if (id === '..') continue;
    const { body } = await post(`/actions/school/${encodeURIComponent(id)}/rename-school-action`, {
      name: 'New',
    });
    t.deepEqual(body, { data: { id, name: 'New' } });
  }
});

test('an invalid id is 404', async (t) => {
  const { rename, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [rename] });
  for (const id of ['%00', 'a%0Ab', 'a'.repeat(256)]) {
    const { status, body } = await post(`/actions/school/${id}/rename-school-action`, { name: 'New' });
    t.is(status, 404, id);
    t.is(body['code'], 'id_invalid');
    t.is(body['message'], 'An id has 1 to 255 characters, and no control characters.');
  }
  t.deepEqual(ran, []);
});

test('invalid input is 422 with each mistake and its JSON pointer', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const { status, type, body } = await post(CREATE, { name: ' ', tags: ['a', 7] });
  t.is(status, 422);
  t.is(type, 'application/problem+json; charset=utf-8');
  t.is(body['code'], 'input_invalid');
  t.is(body['message'], 'The body does not match the input schema; errors lists each mistake.');
  t.deepEqual(body['errors'], [
    { pointer: '#/name', message: 'Give 1 to 100 characters on one line.' },
    { pointer: '#/tags/1', message: 'Invalid input: expected string, received number' },
  ]);
  for (const input of [undefined, {}, [], 'a string', 7, null, true]) {
    t.is((await post(CREATE, input === undefined ? undefined : JSON.stringify(input))).status, 422);
  }
  t.deepEqual(ran, []);
});

test('a JSON pointer escapes member names, and the list of mistakes is limited', async (t) => {
  const action = defineAction({
    ...PLAIN,
    name: 'count-action',
    input: z.record(z.string(), z.number()),
    run: () => null,
  });
  const { post } = await serveApi(t, { actions: [action] });
  const odd = await post('/actions/school/count-action', { 'a/b~c ü"<': 'x' });
  t.deepEqual((odd.body['errors'] as { pointer: string }[])[0]?.pointer, '#/a~1b~0c%20%C3%BC%22%3C');
  const many = Object.fromEntries(Array.from({ length: 3000 }, (_, index) => [index, 'x']));
  t.is(((await post('/actions/school/count-action', many)).body['errors'] as unknown[]).length, 100);
});

test('an unknown action is 404, whatever its name', async (t) => {
  const { create, rename } = schoolActions();
  const { post, origin, platform } = await serveApi(t, { actions: [create, rename] });
  for (const path of [
    '/actions/school/nothing-action',
    '/actions/pupil/create-school-action',
    '/actions/school/7/nothing-action',
    '/actions/school/nothing-action/bulk',
    '/actions/__proto__/constructor',
    '/actions/school/Create-School-Action',
    '/actions/school%2Fcreate-school-action/x',
  ]) {
    const { status, body } = await post(path, { name: 'x' });
    t.is(status, 404, path);
    t.is(body['code'], 'action_not_found');
    t.is(body['message'], 'There is no such action. The list of actions has those that you may run.');
  }
  t.is(
    (await request(`${origin}/api/v1/actions/school/nothing-action`, await platform.userToken())).status,
    404,
  );
});

test('an action at the wrong level is an error that names the right path', async (t) => {
  const { create, rename } = schoolActions();
  const { post } = await serveApi(t, { actions: [create, rename] });
  const withoutId = await post('/actions/school/rename-school-action', { name: 'x' });
  t.is(withoutId.status, 405);
  t.is(withoutId.headers.get('allow'), 'HEAD, GET, OPTIONS');
  t.is(withoutId.body['code'], 'method_not_allowed');
  t.is(
    withoutId.body['message'],
    "rename-school-action needs the id of an object: put it before the action's name.",
  );
  const withId = await post('/actions/school/7/create-school-action', { name: 'x' });
  t.is(withId.status, 404);
  t.is(withId.body['code'], 'action_not_found');
  t.is(withId.body['message'], 'create-school-action takes no id: leave it out of the path.');
});

test('other methods are 405', async (t) => {
  const { create, rename } = schoolActions();
  const { origin, platform } = await serveApi(t, { actions: [create, rename] });
  const token = await platform.userToken();
  for (const [method, path, allow] of [
    ['PUT', CREATE, 'HEAD, GET, POST, OPTIONS'],
    ['GET', '/actions/school/7/rename-school-action', 'POST, OPTIONS'],
    ['GET', `${CREATE}/bulk`, 'POST, OPTIONS'],
    ['POST', '/actions', 'HEAD, GET, OPTIONS'],
  ] as const) {
    const { status, headers } = await request(`${origin}/api/v1${path}`, token, { method });
    t.is(status, 405, `${method} ${path}`);
    t.is(headers.get('allow'), allow, `${method} ${path}`);
  }
});

test("without the permission: 403 with the gate's message, before the body is read", async (t) => {
  const { create, grade } = schoolActions();
  const { post, origin, platform } = await serveApi(t, { actions: [create, grade] });
  const refused = await post('/actions/school/7/grade-school-action', 'not JSON');
  t.is(refused.status, 403);
  t.is(refused.body['code'], 'missing_permission');
  t.is(refused.body['message'], 'You may not see grades.');
  t.is(refused.body['permission'], 'view_grades');
  const asClient = await request(`${origin}/api/v1${CREATE}`, await platform.clientToken(), {
    method: 'POST',
  });
  t.is(asClient.status, 403);
  t.is(asClient.body['message'], 'Missing permission to edit schools.');
  const scoped = await request(
    `${origin}/api/v1${CREATE}`,
    await platform.userToken({ scope: 'schools:read' }),
    { method: 'POST' },
  );
  t.is(scoped.status, 403);
  t.regex(scoped.headers.get('www-authenticate') ?? '', /error="insufficient_scope"/);
});

test('run gets the principal: a user or a client', async (t) => {
  const nameCaller = defineAction({
    type: 'caller',
    name: 'name-caller-action',
    level: 'collection',
    title: 'Name the caller',
    permission: 'view_schools',
    input: z.object({}),
    output: z.object({ type: z.string(), name: z.string().optional(), edits: z.boolean() }),
    run: ({ principal }) => ({
      type: principal.type,
      name: principal.user?.name ?? principal.client?.name,
      edits: principal.can('edit_schools'),
    }),
  });
  const { origin, platform } = await serveApi(t, { actions: [nameCaller] });
  const url = `${origin}/api/v1/actions/caller/name-caller-action`;
  const answers = await Promise.all(
    [platform.userToken(), platform.clientToken()].map(
      async (token) => (await request(url, await token, { method: 'POST' })).body['data'],
    ),
  );
  t.deepEqual(answers, [
    { type: 'user', name: 'Ann', edits: true },
    { type: 'client', name: 'Sync', edits: false },
  ]);
});

test('an error thrown for the caller keeps its status, code and message', async (t) => {
  const errors: [unknown, number, string, string][] = [
    [
      new ActionError(409, 'school_closed', 'The school is closed.'),
      409,
      'school_closed',
      'The school is closed.',
    ],
    [
      new PermissionMissingError('edit_schools', 'Missing permission to edit schools.'),
      403,
      'missing_permission',
      'Missing permission to edit schools.',
    ],
    [
      Object.assign(new Error('Gone for good.'), { status: 410, expose: true }),
      410,
      'gone',
      'Gone for good.',
    ],
  ];
  for (const [error, status, code, message] of errors) {
    const { post } = await serveApi(t, { actions: [throwing(error)] });
    const answer = await post('/actions/school/fail-action');
    t.is(answer.status, status);
    t.is(answer.body['code'], code);
    t.is(answer.body['message'], message);
  }
});

test('any other error of an action is a 500 whose reference is in the log', async (t) => {
  for (const error of [
    new TypeError('inner text'),
    'inner text',
    null,
    Object.assign(new Error('inner text'), { status: 404 }),
  ]) {
    const { post, platform } = await serveApi(t, { actions: [throwing(error)] });
    const { status, body } = await post('/actions/school/fail-action');
    t.is(status, 500);
    t.is(body['code'], 'internal_error');
    t.false(JSON.stringify(body).includes('inner text'));
    t.false('stack' in body);
    t.is(platform.log.length, 1);
    t.is(platform.log[0]?.fields['err'], error);
    t.is(platform.log[0]?.fields['action'], 'school/fail-action');
    t.is(platform.log[0]?.fields['request_id'], body['reference']);
  }
  const { post } = await serveApi(t, { actions: [throwing(new StorageError('10.0.0.7 refused'))] });
  const unavailable = await post('/actions/school/fail-action');
  t.is(unavailable.status, 503);
  t.is(unavailable.headers.get('retry-after'), '5');
});

test('output that violates its schema, or cannot be serialized, is a 500', async (t) => {
  const circle: { name: string; self?: unknown } = { name: 'x' };
  circle.self = circle;
  const cases: [unknown, RegExp][] = [
    [
      { id: 7, name: 'x' },
      /school\/show-action returned a value that does not match its output schema: #\/id: .*expected string/,
    ],
    [undefined, /returned a value that does not match its output schema: #: /],
    [{ id: '7', name: 'x', extra: 1n }, /BigInt/],
    [{ id: '7', name: 'x', extra: circle }, /circular/],
  ];
  for (const [output, message] of cases) {
    const action = defineAction({
      ...PLAIN,
      name: 'show-action',
      output: z.object({ id: z.string(), name: z.string(), extra: z.unknown().optional() }),
      run: () => output as { id: string; name: string },
    });
    const { post, platform } = await serveApi(t, { actions: [action] });
    const { status, body } = await post('/actions/school/show-action');
    t.is(status, 500);
    t.is(body['code'], 'internal_error');
    t.deepEqual(Object.keys(body), ['type', 'title', 'status', 'detail', 'code', 'message', 'reference']);
    t.is(platform.log.length, 1);
    t.regex(String(platform.log[0]?.fields['err']), message);
    t.is(platform.log[0]?.fields['request_id'], body['reference']);
  }
});

test('a schema that throws is a 500', async (t) => {
  const action = defineAction({
    ...PLAIN,
    name: 'check-action',
    input: z.object({}).refine(() => {
      throw new Error('inner text');
    }),
    run: () => null,
  });
  const { post, platform } = await serveApi(t, { actions: [action] });
  t.is((await post('/actions/school/check-action')).status, 500);
  t.is(platform.log.length, 1);
});

test('run gets the parsed input: with defaults, converted, without unknown members', async (t) => {
  const inputs: unknown[] = [];
  const settings = {
    ...PLAIN,
    input: z.object({ opens: z.coerce.number(), name: z.string().trim(), pupils: z.number().default(30) }),
    run({ input }: { input: unknown }) {
      inputs.push(input);
      return null;
    },
  };
  const open = defineAction({ ...settings, name: 'open-school-action' });
  const move = defineAction({ ...settings, name: 'move-school-action', level: 'instance' });
  const { post } = await serveApi(t, { actions: [open, move] });
  const body = { opens: '2027', name: ' Hill School ', admin: true };
  t.is((await post('/actions/school/open-school-action', body)).status, 200);
  t.is((await post('/actions/school/1/move-school-action', body)).status, 200);
  await post('/actions/school/open-school-action/bulk', { items: [{ input: body }] });
  await post('/actions/school/move-school-action/bulk', { items: [{ id: '1', input: body }] });
  const made = { opens: 2027, name: 'Hill School', pupils: 30 };
  t.deepEqual(inputs, [made, made, made, made]);
});

test('by default, a body may have 64 KiB', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const text = '{"name":"Hill School"}';
  t.is((await post(CREATE, text.padEnd(65_536))).status, 200);
  const { status, body } = await post(CREATE, text.padEnd(65_537));
  t.is(status, 413);
  t.is(body['code'], 'body_invalid');
  t.is(body['message'], 'The body is larger than 65536 bytes.');
  t.deepEqual(ran, ['Hill School']);
});

test('a body must be JSON of a limited size', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create], bodyLimit: 100 });
  const cases: [string, Record<string, string>, number, string][] = [
    ['{"name":', {}, 400, 'The body is not valid JSON.'],
    ['{"name":"a","name":"b"}', {}, 400, 'An object of the body contains a duplicate member.'],
    [String.raw`{"name":"a\u0000b"}`, {}, 400, 'The body contains a NUL character.'],
    [
      'name=a',
      { 'content-type': 'application/x-www-form-urlencoded' },
      415,
      'Send the body as application/json.',
    ],
    [JSON.stringify({ name: 'a'.repeat(100) }), {}, 413, 'The body is larger than 100 bytes.'],
  ];
  for (const [body, headers, status, message] of cases) {
    const answer = await post(CREATE, body, headers);
    t.is(answer.status, status);
    t.is(answer.body['code'], 'body_invalid');
    t.is(answer.body['message'], message);
  }
  t.deepEqual(ran, []);
});

test('the signal is aborted when the caller disconnects, and no error is logged', async (t) => {
  const began = Promise.withResolvers<void>();
  const aborted = Promise.withResolvers<void>();
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    async run({ signal }) {
      began.resolve();
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason));
      }).finally(aborted.resolve);
      return null;
    },
  });
  const { origin, platform } = await serveApi(t, { actions: [action] });
  const headers = { authorization: `Bearer ${await platform.userToken()}` };
  const outgoing = send(`${origin}/api/v1/actions/school/wait-action`, { method: 'POST', headers });
  outgoing.on('error', () => {});
  outgoing.end();
  await began.promise;
  outgoing.destroy();
  await aborted.promise;
  // After the response to another request, the server has completed this one.
  await request(`${origin}/api/v1/identity`, await platform.userToken());
  t.deepEqual(platform.log, []);
});

test('the signal is not aborted while the caller waits', async (t) => {
  let signal: AbortSignal | undefined;
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    run(call) {
      ({ signal } = call);
      return null;
    },
  });
  const { post } = await serveApi(t, { actions: [action] });
  t.deepEqual((await post('/actions/school/wait-action')).body, { data: null });
  t.false(signal?.aborted);
});

function throwing(error: unknown) {
  return defineAction({
    ...PLAIN,
    name: 'fail-action',
    run() {
      throw error;
    },
  });
}
