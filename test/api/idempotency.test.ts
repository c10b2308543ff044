import { request as send } from 'node:http';

import test from 'ava';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { ActionError, StorageError } from '../../lib/errors.ts';
import { request } from '../access/serve.ts';
import type { Answer } from '../access/serve.ts';
import { gate } from '../access/platform.ts';
import { onEachDatabase, sqlite } from '../adapters/databases.ts';
import { passTime } from '../harness/clock.ts';
import { around, pausable } from '../harness/storage.ts';
import { serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const CREATE = '/actions/school/create-school-action';
const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' };
const HILL = { name: 'Hill School' };

test('a repeated request gets the first response, and the action runs once', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const first = await post(CREATE, HILL, KEY);
  const second = await post(CREATE, HILL, KEY);
  t.is(first.headers.get('idempotent-replayed'), null);
  t.is(second.headers.get('idempotent-replayed'), 'true');
  t.is(second.status, 200);
  t.is(second.type, first.type);
  t.deepEqual(second.body, first.body);
  t.deepEqual(ran, ['Hill School']);
  await post(CREATE, HILL, { 'idempotency-key': 'another' });
  await post(CREATE, HILL);
  await post(CREATE, HILL);
  t.is(ran.length, 4);
});

test('a quoted key is the same key', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  await post(CREATE, HILL, { 'idempotency-key': 'a-key' });
  const quoted = await post(CREATE, HILL, { 'idempotency-key': '"a-key"' });
  t.is(quoted.headers.get('idempotent-replayed'), 'true');
  await post(CREATE, HILL, { 'idempotency-key': String.raw`"with \"quotes\", a \\ and spaces"` });
  t.is(ran.length, 2);
});

test('anything but one key of 1 to 255 visible ASCII characters is 400', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  for (const key of [
    '',
    ' ',
    '""',
    '"open',
    'a b',
    'a, b',
    '"a", "b"',
    '"a";b=1',
    'ü',
    'a'.repeat(256),
    `"${'a'.repeat(256)}"`,
    String.raw`"\a"`,
  ]) {
    const { status, body } = await post(CREATE, HILL, { 'idempotency-key': key });
    t.is(status, 400, key);
    t.is(body['code'], 'idempotency_key_invalid');
    t.is(body['message'], 'Send one Idempotency-Key of 1 to 255 visible ASCII characters, such as a UUID.');
  }
  t.is((await post(CREATE, HILL, { 'idempotency-key': 'a'.repeat(255) })).status, 200);
  t.is(ran.length, 1);
});

test('the same key with another request is 409', async (t) => {
  const { create, rename, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create, rename] });
  await post(CREATE, HILL, KEY);
  for (const [path, body] of [
    [CREATE, { name: 'Valley School' }],
    [CREATE, {}],
    ['/actions/school/1/rename-school-action', HILL],
    [`${CREATE}/bulk`, { items: [{ input: HILL }] }],
  ] as const) {
    const answer = await post(path, body, KEY);
    t.is(answer.status, 409);
    t.is(answer.body['code'], 'idempotency_key_reused');
    t.is(
      answer.body['message'],
      'This Idempotency-Key was sent with another request before. Make a new key for each request.',
    );
  }
  t.is(ran.length, 1);
});

test('a key belongs to one caller: a user through a client', async (t) => {
  const { create, ran } = schoolActions();
  const { origin, platform } = await serveApi(t, { actions: [create] });
  const [ann] = platform.users.values();
  const [reports, sync] = platform.clients.values();
  platform.users.set('bob', { ...ann!, id: 'bob' });
  platform.clients.set('other', { ...reports!, id: 'other' });
  platform.clients.set(sync!.id, { ...sync!, permissions: ['edit_schools'] });
  const tokens = await Promise.all([
    platform.userToken(),
    platform.userToken({ sub: 'bob' }),
    platform.userToken({ client_id: 'other' }),
    platform.clientToken(),
  ]);
  for (const token of [...tokens, ...tokens]) {
    const { status } = await request(`${origin}/api/v1${CREATE}`, token, {
      method: 'POST',
      headers: { ...KEY, 'content-type': 'application/json' },
      body: JSON.stringify(HILL),
    });
    t.is(status, 200);
  }
  t.is(ran.length, tokens.length);
});

test('a caller that may no longer run the action gets 403, not the stored response', async (t) => {
  const { create } = schoolActions();
  const { post, platform } = await serveApi(t, { actions: [create] });
  await post(CREATE, HILL, KEY);
  platform.users.set('ann', { ...platform.users.get('ann')!, roles: [] });
  platform.clock.time += 60_000;
  t.is((await post(CREATE, HILL, KEY)).status, 403);
});

test('an error that the action chose is stored; invalid input and failures run again', async (t) => {
  const outcomes: unknown[] = [
    new Error('broken'),
    new StorageError('gone'),
    new ActionError(429, 'too_many', 'Later.'),
    new ActionError(409, 'school_closed', 'The school is closed.'),
  ];
  const action = defineAction({
    ...PLAIN,
    name: 'try-action',
    input: z.object({ name: z.string() }),
    run() {
      throw outcomes.shift();
    },
  });
  const { post } = await serveApi(t, { actions: [action] });
  const attempt = async (body: object = HILL) => post('/actions/school/try-action', body, KEY);
  t.is((await attempt({})).status, 422);
  for (const status of [500, 503, 429, 409]) t.is((await attempt()).status, status);
  const again = await attempt();
  t.is(again.status, 409);
  t.is(again.type, 'application/problem+json; charset=utf-8');
  t.is(again.body['code'], 'school_closed');
  t.is(again.headers.get('idempotent-replayed'), 'true');
});

test('after insufficient_scope, the same key works with another token', async (t) => {
  const action = defineAction({
    type: 'school',
    name: 'open-school-action',
    level: 'collection',
    title: 'Open a school',
    permission: 'view_schools',
    input: z.object({}),
    output: z.object({ open: z.boolean() }),
    run({ principal }) {
      gate.authorize(principal, 'edit_schools');
      return { open: true };
    },
  });
  const { origin, platform } = await serveApi(t, { actions: [action] });
  const open = async (scope?: string): Promise<Answer> =>
    request(
      `${origin}/api/v1/actions/school/open-school-action`,
      await platform.userToken(scope === undefined ? {} : { scope }),
      { method: 'POST', headers: KEY },
    );
  const limited = await open('schools:read');
  t.is(limited.status, 403);
  t.regex(limited.headers.get('www-authenticate') ?? '', /^Bearer error="insufficient_scope"/);
  t.is((await open()).status, 200);
});

test('a bulk with a key runs once, and each response has the format it asks for', async (t) => {
  const { create, ran } = schoolActions();
  const { post, origin, platform } = await serveApi(t, { actions: [create] });
  const body = { items: [{ input: HILL }, { input: {} }] };
  const first = await post(`${CREATE}/bulk`, body, KEY);
  t.like(first.body['data'], { succeeded: 1, failed: 1 });
  t.deepEqual((await post(`${CREATE}/bulk`, body, KEY)).body, first.body);
  const lines = await fetch(`${origin}/api/v1${CREATE}/bulk`, {
    method: 'POST',
    headers: {
      ...KEY,
      accept: 'application/x-ndjson',
      authorization: `Bearer ${await platform.userToken()}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify(body),
  });
  t.is(lines.headers.get('idempotent-replayed'), 'true');
  t.is(lines.headers.get('content-type'), 'application/x-ndjson; charset=utf-8');
  const { results } = first.body['data'] as { results: object[] };
  t.deepEqual(
    (await lines.text())
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line)),
    [...results, { succeeded: 1, failed: 1 }],
  );
  t.is(ran.length, 1);
});

test('a response that is too long to store is sent once, and the action is not run again', async (t) => {
  let ran = 0;
  const action = defineAction({
    ...PLAIN,
    name: 'write-action',
    output: z.string(),
    run() {
      ran += 1;
      return 'x'.repeat(1024 * 1024);
    },
  });
  const { post } = await serveApi(t, { actions: [action] });
  t.is((await post('/actions/school/write-action', {}, KEY)).status, 200);
  const { status, body } = await post('/actions/school/write-action', {}, KEY);
  t.is(status, 409);
  t.is(body['code'], 'answer_not_kept');
  t.is(
    body['message'],
    'The request with this Idempotency-Key has been completed. Its response was too long to be stored.',
  );
  t.is(ran, 1);
});

test('a caller that disconnects and repeats gets the response of the first request', async (t) => {
  const began = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  let ran = 0;
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    output: z.object({ aborted: z.boolean() }),
    async run({ signal }) {
      ran += 1;
      began.resolve();
      await release.promise;
      return { aborted: signal.aborted };
    },
  });
  const { post, origin, platform } = await serveApi(t, { actions: [action] });
  const outgoing = send(`${origin}/api/v1/actions/school/wait-action`, {
    method: 'POST',
    headers: { ...KEY, authorization: `Bearer ${await platform.userToken()}` },
  });
  outgoing.on('error', () => {});
  outgoing.end();
  await began.promise;
  outgoing.destroy();
  const repeat = post('/actions/school/wait-action', {}, KEY);
  await post(CREATE, {});
  release.resolve();
  const { status, body } = await repeat;
  t.is(status, 200);
  t.deepEqual(body, { data: { aborted: false } });
  t.is(ran, 1);
});

test.serial('a repeated request waits ten seconds at most, and then gets 409 with Retry-After', async (t) => {
  const began = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const waits = Promise.withResolvers<void>();
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    async run() {
      began.resolve();
      await release.promise;
      return null;
    },
  });
  let begins = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'idempotency.begin') begins += 1;
    if (begins === 3) waits.resolve();
    return call();
  });
  const { post } = await serveApi(t, { storage, actions: [action] });
  const first = post('/actions/school/wait-action', {}, KEY);
  await began.promise;
  const second = post('/actions/school/wait-action', {}, KEY);
  await waits.promise;
  passTime(11);
  const { status, body, headers } = await second;
  t.is(status, 409);
  t.is(body['code'], 'request_in_progress');
  t.is(headers.get('retry-after'), '5');
  release.resolve();
  t.is((await first).status, 200);
});

test.serial('the request of a process that ended is taken over after its lease', async (t) => {
  const { create, ran } = schoolActions();
  const memory = memoryStorage();
  // The process ends before it can store the response.
  const failing = around(memory, async (name, call) =>
    /finish|abandon|extend/.test(name) ? undefined : call(),
  );
  const platform = await serveApi(t, { storage: failing, actions: [create] });
  t.is((await platform.post(CREATE, HILL, KEY)).status, 200);
  const { post } = await serveApi(t, { storage: memory, actions: [create], platform: platform.platform });
  passTime(31);
  t.is((await post(CREATE, HILL, KEY)).status, 200);
  t.is(ran.length, 2, 'at least once: the storage cannot know whether the first attempt was complete');
  t.is((await post(CREATE, HILL, KEY)).headers.get('idempotent-replayed'), 'true');
});

test.serial('a key expires after a day', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  await post(CREATE, HILL, KEY);
  passTime(24 * 3600 - 60);
  await post(CREATE, HILL, KEY);
  t.is(ran.length, 1);
  passTime(120);
  t.is((await post(CREATE, { name: 'Valley School' }, KEY)).status, 200);
  t.is(ran.length, 2);
});

test('a response that cannot be stored is sent, and the failure is logged', async (t) => {
  const { create } = schoolActions();
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'idempotency.finish') throw new StorageError('gone');
    return call();
  });
  const { post, platform } = await serveApi(t, { storage, actions: [create] });
  t.is((await post(CREATE, HILL, KEY)).status, 200);
  t.is(platform.log.length, 1);
  t.is(platform.log[0]?.message, 'storing the response of an idempotent request failed');
});

test('if the storage fails before the action, nothing runs', async (t) => {
  const { create, ran } = schoolActions();
  const storage = around(memoryStorage(), async () => {
    throw new StorageError('gone');
  });
  const { post } = await serveApi(t, { storage, actions: [create] });
  t.is((await post(CREATE, HILL, KEY)).status, 503);
  t.deepEqual(ran, []);
  t.is((await post(CREATE, HILL)).status, 200, 'without a key it is not asked');
});

test('no row and no log line contains the key', async (t) => {
  const { create } = schoolActions();
  const rows: unknown[] = [];
  const memory = memoryStorage();
  const storage: typeof memory = {
    ...memory,
    idempotency: {
      ...memory.idempotency,
      async begin(row, now) {
        rows.push(row);
        return memory.idempotency.begin(row, now);
      },
    },
  };
  const { post } = await serveApi(t, { storage, actions: [create] });
  await post(CREATE, HILL, { 'idempotency-key': 'a-key-that-is-a-secret' });
  t.is(rows.length, 1);
  t.notRegex(JSON.stringify(rows), /a-key-that-is-a-secret|Hill School/);
});

test('the response is stored across a restart', async (t) => {
  const address = await sqlite.empty();
  const { create, ran } = schoolActions();
  const before = knexStorage(address);
  await before.migrate();
  const first = await serveApi(t, { storage: before, actions: [create] });
  const { body } = await first.post(CREATE, HILL, KEY);
  await before.close();
  const after = knexStorage(address);
  t.teardown(async () => after.close());
  const second = await serveApi(t, { storage: after, actions: [create], platform: first.platform });
  const answer = await second.post(CREATE, HILL, KEY);
  t.is(answer.headers.get('idempotent-replayed'), 'true');
  t.deepEqual(answer.body, body);
  t.is(ran.length, 1);
});

onEachDatabase('twenty repeats at once on two servers run the action once', async (t, _database, address) => {
  const { create, ran } = schoolActions();
  const storages = [knexStorage(address), knexStorage(address)];
  t.teardown(async () => Promise.all(storages.map(async (storage) => storage.close())));
  await storages[0]!.migrate();
  const { gather, storage } = pausable(storages[0]!);
  const first = await serveApi(t, { storage, actions: [create] });
  const second = await serveApi(t, {
    storage: storages[1]!,
    actions: [create],
    platform: first.platform,
  });
  gather('idempotency.begin', 10);
  const answers: Answer[] = await Promise.all(
    Array.from({ length: 20 }, async (_, index) => [first, second][index % 2]!.post(CREATE, HILL, KEY)),
  );
  for (const { status, body } of answers) {
    t.is(status, 200);
    t.deepEqual(body, answers[0]!.body);
  }
  t.is(ran.length, 1);
  t.is(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
});
