import { once } from 'node:events';

import test from '../harness/test.ts';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { ActionError, PermissionMissingError } from '../../lib/errors.ts';
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

test('run gets the percent-decoded id, and an invalid one is 404', async (t) => {
  const ids = ['a/b', 'ü ñ', 'bulk', 'rename-school-action', '%2F', '100%', 'a'.repeat(255)];
  const { rename, ran } = schoolActions(new Map(ids.map((id) => [id, { id, name: 'Old' }])));
  const { post } = await serveApi(t, { actions: [rename] });
  const renamed = async (id: string) => post(`/actions/school/${id}/rename-school-action`, { name: 'New' });
  for (const id of ids)
    t.deepEqual((await renamed(encodeURIComponent(id))).body, { data: { id, name: 'New' } });
  for (const id of ['%00', 'a%0Ab', 'a'.repeat(256)]) {
    const { status, body } = await renamed(id);
    t.is(status, 404, id);
    t.is(body['code'], 'id_invalid');
    t.is(body['message'], 'An id has 1 to 255 characters, and no control characters.');
  }
  t.is(ran.length, ids.length);
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

test('an unknown action is 404, one at the wrong level an error that names the right path, another method 405', async (t) => {
  const { create, rename, ran } = schoolActions();
  const { call, post, platform } = await serveApi(t, { actions: [create, rename] });
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
  for (const [method, path, allow] of [
    ['PUT', CREATE, 'HEAD, GET, POST, OPTIONS'],
    ['GET', '/actions/school/7/rename-school-action', 'POST, OPTIONS'],
    ['GET', `${CREATE}/bulk`, 'POST, OPTIONS'],
    ['POST', '/actions', 'HEAD, GET, OPTIONS'],
  ] as const) {
    const { status, headers } = await call(path, await platform.userToken(), {
      method,
    });
    t.is(status, 405, `${method} ${path}`);
    t.is(headers.get('allow'), allow, `${method} ${path}`);
  }
  t.deepEqual(ran, []);
});

test("without the permission: 403 with the gate's message, before the body is read", async (t) => {
  const { create, grade } = schoolActions();
  const { call, post, platform } = await serveApi(t, { actions: [create, grade] });
  for (const path of ['7/grade-school-action', 'grade-school-action/bulk']) {
    const { status, body } = await post(`/actions/school/${path}`, 'not JSON');
    t.is(status, 403);
    t.is(body['code'], 'missing_permission');
    t.is(body['message'], 'You may not see grades.');
    t.is(body['permission'], 'view_grades');
  }
  const asClient = await call(CREATE, await platform.clientToken(), {
    method: 'POST',
  });
  t.is(asClient.status, 403);
  t.is(asClient.body['message'], 'Missing permission to edit schools.');
  const scoped = await call(CREATE, await platform.userToken({ scope: 'schools:read' }), { method: 'POST' });
  t.is(scoped.status, 403);
  t.regex(scoped.headers.get('www-authenticate') ?? '', /error="insufficient_scope"/);
});

test('run gets the principal: a user or a client', async (t) => {
  const nameCaller = defineAction({
    ...PLAIN,
    name: 'name-caller-action',
    permission: 'view_schools',
    output: z.array(z.unknown()),
    run: ({ principal }) => {
      const { client, type, user } = principal;
      return [type, user?.name ?? client?.name, principal.can('edit_schools')];
    },
  });
  const { call, platform } = await serveApi(t, { actions: [nameCaller] });
  for (const [token, ...caller] of [
    [await platform.userToken(), 'user', 'Ann', true],
    [await platform.clientToken(), 'client', 'Sync', false],
  ] as const) {
    const path = '/actions/school/name-caller-action';
    t.deepEqual((await call(path, token, { method: 'POST' })).body['data'], caller);
  }
});

test('an error thrown for the caller keeps its status, code and message; any other is a 500 in the log', async (t) => {
  const closed = 'The school is closed.';
  const unexpected = 'Something went wrong on the server. Give the reference when you report it.';
  for (const [error, status, code, message] of [
    [new ActionError(409, 'school_closed', closed), 409, 'school_closed', closed],
    [new PermissionMissingError('edit_schools', closed), 403, 'missing_permission', closed],
    [new TypeError('inner text'), 500, 'internal_error', unexpected],
  ] as const) {
    const fail = defineAction({
      ...PLAIN,
      name: 'fail-action',
      run() {
        throw error;
      },
    });
    const { post, platform } = await serveApi(t, { actions: [fail] });
    const { body, ...answer } = await post('/actions/school/fail-action');
    t.is(answer.status, status);
    t.like(body, { code, message });
    t.false('stack' in body);
    t.false(answer.text.includes('inner text'));
    const fields = { err: error, action: 'school/fail-action', request_id: body['reference'] };
    t.deepEqual(
      platform.log.map((line) => line.fields),
      status < 500 ? [] : [fields],
    );
  }
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
    t.false(JSON.stringify(body).includes('returned'));
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

test('a body is JSON of 64 KiB at most, by default', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const text = '{"name":"Hill School"}';
  t.is((await post(CREATE, text.padEnd(65_536))).status, 200);
  const form = { 'content-type': 'application/x-www-form-urlencoded' };
  for (const [given, headers, status, message] of [
    ['{"name":', {}, 400, 'The body is not valid JSON.'],
    ['name=a', form, 415, 'Send the body as application/json.'],
    [text.padEnd(65_537), {}, 413, 'The body is larger than 65536 bytes.'],
  ] as const) {
    const answer = await post(CREATE, given, headers);
    t.is(answer.status, status);
    t.like(answer.body, { code: 'body_invalid', message });
  }
  t.deepEqual(ran, ['Hill School']);
});

test('the signal is aborted when the caller disconnects, and no error is logged', async (t) => {
  const began = Promise.withResolvers<AbortSignal>();
  const isWaiting = z.object({ waiting: z.boolean() });
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    input: isWaiting,
    output: isWaiting,
    async run({ input, signal }) {
      if (!input.waiting) return { waiting: signal.aborted };
      began.resolve(signal);
      await once(signal, 'abort');
      throw signal.reason;
    },
  });
  const { open, post, platform } = await serveApi(t, { actions: [action] });
  const outgoing = await open('/actions/school/wait-action', { waiting: true });
  const signal = await began.promise;
  outgoing.destroy();
  await once(signal, 'abort');
  // After the response to another request, the server has completed this one.
  const { body } = await post('/actions/school/wait-action', { waiting: false });
  t.deepEqual(body, { data: { waiting: false } }, 'not aborted while the caller waits');
  t.deepEqual(platform.log, []);
});
