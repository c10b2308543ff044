import { mock } from 'node:test';

import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { LEASE, startLease } from '../../lib/api/answer-once.ts';
import type { IdempotencyStore } from '../../lib/contracts/index.ts';
import { ActionError, StorageError } from '../../lib/errors.ts';
import type { ApiAnswer } from '../harness/requests.ts';
import { createPlatform } from '../access/platform.ts';
import { onEachDatabase } from '../adapters/databases.ts';
import { openStorage } from '../adapters/host-knex.ts';
import { passTime } from '../harness/clock.ts';
import { around, pausable } from '../harness/storage.ts';
import { linesOf, serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const CREATE = '/actions/school/create-school-action';
const KEY = { 'idempotency-key': '8e03978e-40d5-43dd-bc93-6894a57f9324' };
const WAIT = '/actions/school/wait-action';
const HILL = { name: 'Hill School' };

test('a repeated request gets the first response, and the action runs once', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const first = await post(CREATE, HILL, KEY);
  const quoted = { 'idempotency-key': `"${KEY['idempotency-key']}"` };
  for (const [headers, replayed] of [
    [KEY, 'true'],
    [quoted, 'true'],
    [{ 'idempotency-key': 'another' }, null],
    [{ 'idempotency-key': String.raw`"with \"quotes\", a \\ and spaces"` }, null],
    [{}, null],
    [{}, null],
  ] as const) {
    const { headers: answered, status, type, ...answer } = await post(CREATE, HILL, headers);
    t.is(answered.get('idempotent-replayed'), replayed);
    t.deepEqual([status, type], [200, first.type]);
    if (replayed) t.deepEqual(answer.body, first.body);
  }
  t.is(first.headers.get('idempotent-replayed'), null);
  t.is(ran.length, 5);
});

test('anything but one key of 1 to 255 visible ASCII characters is 400', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const long = 'a'.repeat(256);
  const wrong = ['', ' ', '""', '"open', 'a b', 'a, b', '"a", "b"', '"a";b=1', 'ü', long, `"${long}"`];
  for (const key of [...wrong, String.raw`"\a"`]) {
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
  const { post, platform } = await serveApi(t, { actions: [create] });
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
  for (const token of [...tokens, ...tokens])
    t.is((await post(CREATE, HILL, { ...KEY, authorization: `Bearer ${token}` })).status, 200);
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

test('a bulk with a key runs once, and each response has the format it asks for', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  const body = { items: [{ input: HILL }, { input: {} }] };
  const first = await post(`${CREATE}/bulk`, body, KEY);
  t.like(first.body['data'], { succeeded: 1, failed: 1 });
  t.deepEqual((await post(`${CREATE}/bulk`, body, KEY)).body, first.body);
  const lines = await post(`${CREATE}/bulk`, body, { ...KEY, accept: 'application/x-ndjson' });
  t.is(lines.headers.get('idempotent-replayed'), 'true');
  t.is(lines.type, 'application/x-ndjson; charset=utf-8');
  const { results } = first.body['data'] as { results: object[] };
  t.deepEqual(linesOf(lines), [...results, { succeeded: 1, failed: 1 }]);
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

/** An action that waits until it is released. */
function waitingAction() {
  const began = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const ran: AbortSignal[] = [];
  const action = defineAction({
    ...PLAIN,
    name: 'wait-action',
    async run({ signal }) {
      ran.push(signal);
      began.resolve();
      await release.promise;
      return null;
    },
  });
  return { action, began: began.promise, release: release.resolve, ran };
}

test('a caller that disconnects and repeats gets the response of the first request', async (t) => {
  const { action, began, ran, release } = waitingAction();
  const { open, post } = await serveApi(t, { actions: [action] });
  const outgoing = await open(WAIT, {}, KEY);
  await began;
  outgoing.destroy();
  const repeat = post(WAIT, {}, KEY);
  await post(CREATE, {});
  release();
  const { status, body } = await repeat;
  t.is(status, 200);
  t.deepEqual(body, { data: null });
  t.is(ran.length, 1);
  t.false(ran[0]!.aborted);
});

test.serial('a repeated request waits ten seconds at most, and then gets 409 with Retry-After', async (t) => {
  const { action, began, release } = waitingAction();
  const waits = Promise.withResolvers<void>();
  let begins = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name === 'idempotency.begin') begins += 1;
    if (begins === 3) waits.resolve();
    return call();
  });
  const { post } = await serveApi(t, { storage, actions: [action] });
  const first = post(WAIT, {}, KEY);
  await began;
  const second = post(WAIT, {}, KEY);
  await waits.promise;
  passTime(11);
  const { status, body, headers } = await second;
  t.is(status, 409);
  t.is(body['code'], 'request_in_progress');
  t.is(headers.get('retry-after'), '5');
  release();
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

test('a response that cannot be stored is sent and logged; if the storage fails before the action, nothing runs', async (t) => {
  const { create, ran } = schoolActions();
  let failing = /finish/;
  const storage = around(memoryStorage(), async (name, call) => {
    if (failing.test(name)) throw new StorageError('gone');
    return call();
  });
  const { post, platform } = await serveApi(t, { storage, actions: [create] });
  t.is((await post(CREATE, HILL, KEY)).status, 200);
  t.deepEqual(
    platform.log.map(({ message }) => message),
    ['storing the response of an idempotent request failed'],
  );
  failing = /./;
  t.is((await post(CREATE, HILL, { 'idempotency-key': 'another' })).status, 503);
  t.is(ran.length, 1);
  t.is((await post(CREATE, HILL)).status, 200, 'without a key it is not asked');
});

test('no row contains the key or the request', async (t) => {
  const { create } = schoolActions();
  const rows: unknown[] = [];
  const { idempotency, ...others } = memoryStorage();
  const storage = {
    ...others,
    idempotency: {
      ...idempotency,
      async begin(...row: Parameters<typeof idempotency.begin>) {
        rows.push(row);
        return idempotency.begin(...row);
      },
    },
  };
  const { post } = await serveApi(t, { storage, actions: [create] });
  await post(CREATE, HILL, { 'idempotency-key': 'a-key-that-is-a-secret' });
  t.is(rows.length, 1);
  t.notRegex(JSON.stringify(rows), /a-key-that-is-a-secret|Hill School/);
});

onEachDatabase('ten repeats at once on two servers run the action once', async (t, _database, address) => {
  const { create, ran } = schoolActions();
  const { gather, storage } = pausable(await openStorage(t, address));
  const first = await serveApi(t, { storage, actions: [create] });
  const second = await serveApi(t, {
    storage: await openStorage(t, address),
    actions: [create],
    platform: first.platform,
  });
  gather('idempotency.begin', 5);
  const answers: ApiAnswer[] = await Promise.all(
    Array.from({ length: 10 }, async (_, index) => [first, second][index % 2]!.post(CREATE, HILL, KEY)),
  );
  for (const { status, body } of answers) {
    t.is(status, 200);
    t.deepEqual(body, answers[0]!.body);
  }
  t.is(ran.length, 1);
  t.is(answers.filter(({ headers }) => headers.get('idempotent-replayed') === null).length, 1);
});

/** Renews a lease every ten seconds, with mocked timers, and counts. */
async function renewals(extend: IdempotencyStore['extend']) {
  mock.timers.enable({ apis: ['setInterval', 'Date'], now: 1_000_000 });
  const { log, logger } = createPlatform();
  const calls: Parameters<typeof extend>[] = [];
  const lease = startLease(
    {
      async extend(...given) {
        calls.push(given);
        return extend(...given);
      },
    },
    { id: 'request', attempt: 'first' },
    logger,
  );
  try {
    for (const milliseconds of [9_999, 1, 10_000]) {
      mock.timers.tick(milliseconds);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await lease.release();
    mock.timers.tick(60_000);
  } finally {
    mock.timers.reset();
  }
  const { aborted } = lease.signal;
  return {
    aborted,
    until: calls.map(([, leasedUntil]) => leasedUntil),
    log: log.map(({ message }) => message),
  };
}

// They replace the timers of Node.
test.serial('a lease is renewed every third of its duration, until it is released', async (t) => {
  const until = [1010 + LEASE, 1020 + LEASE];
  t.is(LEASE, 30);
  t.deepEqual(await renewals(async () => true), { aborted: false, until, log: [] });
  t.deepEqual(await renewals(async () => false), { aborted: true, until, log: [] }, 'taken over by another');
  const failed = await renewals(async () => {
    throw new StorageError('gone');
  });
  const message = 'renewing the lease of an idempotent request failed';
  t.deepEqual(failed, { aborted: false, until, log: [message, message] }, 'a renewal that fails is repeated');
});
