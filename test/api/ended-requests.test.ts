/** Requests whose token, user, client or permission ends while they go on. */
import type { IncomingMessage } from 'node:http';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { Storage } from '../../lib/contracts/index.ts';
import { app, person } from '../access/platform.ts';
import type { Platform } from '../access/platform.ts';
import { postSlowly } from '../harness/slow-request.ts';
import type { JsonAnswer } from '../harness/slow-request.ts';
import { until } from '../harness/until.ts';
import { serveApi } from './api.ts';
import type { Api, ServeOptions } from './api.ts';
import { PLAIN } from './school-actions.ts';

const STEP = { ...PLAIN, type: 'step', name: 'take-action', input: z.object({ step: z.number() }) } as const;
const NDJSON = { accept: 'application/x-ndjson' };
const TOKEN = 'token-1';
const LAG = 5000;

/** Each way in which what a request was admitted with ends, and the answer to what goes on. */
const ENDS: readonly (readonly [
  name: string,
  end: (platform: Platform) => unknown,
  status: number,
  code: string,
])[] = [
  ['the token is revoked', ({ revoked }) => revoked.add(TOKEN), 401, 'token_revoked'],
  ['the user is removed', ({ users }) => users.delete('ann'), 401, 'token_holder_gone'],
  [
    'the app is disabled',
    ({ clients }) => clients.set(app().id, app({ disabled: true })),
    401,
    'token_holder_gone',
  ],
  [
    'the user loses the permission',
    ({ users }) => users.set('ann', person({ roles: [] })),
    403,
    'missing_permission',
  ],
];

/** Ends it on another node: this one learns of it within `tokens.revocationLag`. */
function endElsewhere(platform: Platform, end: (platform: Platform) => unknown): void {
  end(platform);
  platform.clock.time += LAG;
}

interface Steps extends Api {
  readonly ran: number[];
  /** Begins a request, of whose body the half is sent. Resolves when the guard has admitted it. */
  readonly begin: (
    path: string,
    body: object,
    headers?: Record<string, string>,
  ) => Promise<() => Promise<JsonAnswer>>;
}

async function serveSteps(t: Parameters<typeof serveApi>[0], options: ServeOptions = {}): Promise<Steps> {
  const ran: number[] = [];
  const action = defineAction({
    ...STEP,
    output: z.number(),
    run({ input: { step } }) {
      ran.push(step);
      return step;
    },
  });
  const api = await serveApi(t, {
    actions: [action],
    extend: (router, { requires }) =>
      router.post('/steps', requires('edit_schools'), (ctx) => {
        ran.push(-1);
        ctx.body = ctx.request.body;
      }),
    ...options,
  });
  const { origin, platform } = api;
  return {
    ...api,
    ran,
    async begin(path, body, headers = {}) {
      const { isActive } = platform.counts;
      const authorization = `Bearer ${await platform.userToken({ jti: TOKEN })}`;
      const finish = postSlowly(`${origin}/api/v1${path}`, body, { authorization, ...headers });
      await until(() => platform.counts.isActive > isActive);
      return finish;
    },
  };
}

const REQUESTS: readonly (readonly [
  name: string,
  path: string,
  body: object,
  headers?: Record<string, string>,
])[] = [
  ['an action', '/actions/step/take-action', { step: 1 }],
  ['an action with a key', '/actions/step/take-action', { step: 1 }, { 'idempotency-key': 'one' }],
  ['a bulk', '/actions/step/take-action/bulk', { items: [{ input: { step: 1 } }] }],
  ['a streamed bulk', '/actions/step/take-action/bulk', { items: [{ input: { step: 1 } }] }, NDJSON],
  ['a dry run', '/actions/step/take-action/bulk', { dryRun: true, items: [{ input: { step: 1 } }] }],
  ['a route of the host', '/steps', { step: 1 }],
];

for (const [name, end, status, code] of ENDS) {
  test(`a body that arrives after the end is refused: ${name}`, async (t) => {
    for (const [request, path, body, headers] of REQUESTS) {
      const { begin, platform, ran } = await serveSteps(t);
      const finish = await begin(path, body, headers);
      endElsewhere(platform, end);
      const answer = await finish();
      t.is(answer.status, status, request);
      t.like(answer.body, { code, status }, request);
      t.is(answer.headers['content-type'], 'application/problem+json; charset=utf-8', request);
      if (status === 401) t.regex(answer.headers['www-authenticate'] ?? '', /error="invalid_token"/, request);
      t.deepEqual(ran, [], request);
    }
  });
}

/** An action whose items wait until they are released. */
function heldSteps() {
  const began: number[] = [];
  const held = Promise.withResolvers<void>();
  const action = defineAction({
    ...STEP,
    output: z.number(),
    async run({ input: { step } }) {
      began.push(step);
      await held.promise;
      return step;
    },
  });
  return { action, began, release: () => held.resolve() };
}

const items = Array.from({ length: 6 }, (_, step) => ({ input: { step } }));
const BULK = '/actions/step/take-action/bulk';

for (const [name, end, status, code] of ENDS) {
  test(`the items of a bulk that have not begun are refused, each by itself: ${name}`, async (t) => {
    const { action, began, release } = heldSteps();
    const { platform, post } = await serveApi(t, { actions: [action], bulk: { concurrency: 2 } });
    const answering = post(
      BULK,
      { items },
      { authorization: `Bearer ${await platform.userToken({ jti: TOKEN })}` },
    );
    await until(() => began.length === 2);
    endElsewhere(platform, end);
    release();
    const { status: whole, body } = await answering;
    t.is(whole, 200);
    const { failed, results, succeeded } = body['data'] as Record<string, unknown>;
    t.deepEqual([succeeded, failed], [2, 4]);
    t.like(results, {
      0: { status: 200, output: 0 },
      1: { status: 200, output: 1 },
      2: { status, problem: { status, code } },
      5: { status, problem: { status, code } },
    });
    t.deepEqual(began, [0, 1]);

    // The platform is as before: the same request runs to its end.
    platform.revoked.clear();
    platform.users.set('ann', person());
    platform.clients.set(app().id, app());
    platform.clock.time += LAG;
    t.like((await post(BULK, { items })).body['data'], { succeeded: 6, failed: 0 });
  });
}

test('a streamed bulk that is read slowly ends with the token', async (t) => {
  const ran: number[] = [];
  const action = defineAction({
    ...STEP,
    output: z.string(),
    run({ input: { step } }) {
      ran.push(step);
      return 'x'.repeat(100_000);
    },
  });
  const api = await serveApi(t, { actions: [action] });
  const { platform } = api;
  const many = Array.from({ length: 300 }, (_, step) => ({ input: { step } }));
  const outgoing = await api.open(
    BULK,
    { items: many },
    {
      ...NDJSON,
      authorization: `Bearer ${await platform.userToken({ jti: TOKEN })}`,
    },
  );
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  // Nothing is read, so the buffers of both sides fill and the bulk stops.
  let before: number;
  do {
    before = ran.length;
    await until(
      (
        (turns) => () =>
          (turns += 1) > 10
      )(0),
    );
  } while (before !== ran.length);
  endElsewhere(platform, ({ revoked }) => revoked.add(TOKEN));
  const lines: Record<string, unknown>[] = [];
  for await (const line of createInterface({ input: response })) lines.push(JSON.parse(line));
  t.deepEqual(lines.pop(), { succeeded: ran.length, failed: 300 - ran.length });
  t.is(lines.length, 300);
  t.true(ran.length < 150, `${ran.length} ran`);
  t.like(
    lines.find(({ index }) => index === 299),
    { status: 401, problem: { code: 'token_revoked' } },
  );
});

test('while nothing ends, a request asks the cache: one read in `tokens.revocationLag`', async (t) => {
  const { platform, post, ran } = await serveSteps(t);
  const authorization = `Bearer ${await platform.userToken()}`;
  const many = Array.from({ length: 100 }, (_, step) => ({ input: { step } }));
  t.is((await post(BULK, { items: many }, { authorization })).status, 200);
  t.is(ran.length, 100);
  t.deepEqual(platform.counts, { verify: 1, isActive: 1, findUser: 1, findClient: 1 });
});

test('a repeated request that waits for the first one, and whose token ends meanwhile, does not run', async (t) => {
  const held = Promise.withResolvers<never>();
  const began: number[] = [];
  const action = defineAction({
    ...STEP,
    async run({ input: { step } }) {
      began.push(step);
      return held.promise;
    },
  });
  const { platform, post } = await serveApi(t, { actions: [action] });
  const key = { 'idempotency-key': 'one' };
  const token = await platform.userToken({ jti: TOKEN });
  const first = post('/actions/step/take-action', { step: 1 }, key);
  await until(() => began.length === 1);
  const asked = platform.counts.isActive;
  const second = post('/actions/step/take-action', { step: 1 }, { ...key, authorization: `Bearer ${token}` });
  await until(() => platform.counts.isActive > asked);
  endElsewhere(platform, ({ revoked }) => revoked.add(TOKEN));
  held.reject(new Error('the first one fails'));
  t.is((await first).status, 500);
  t.like((await second).body, { status: 401, code: 'token_revoked' });
  t.deepEqual(began, [1]);
});

test('a storage that is away while a request goes on is a 503 of the item', async (t) => {
  const { action, began, release } = heldSteps();
  const { platform, post } = await serveApi(t, { actions: [action], bulk: { concurrency: 1 } });
  const find = platform.users.get.bind(platform.users);
  const answering = post(BULK, { items });
  await until(() => began.length === 1);
  let failures = 0;
  platform.users.get = (id) => {
    failures += 1;
    if (failures > 1) return find(id);
    throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
  };
  platform.clock.time += LAG;
  release();
  const { results } = (await answering).body['data'] as { results: object[] };
  t.like(results, {
    0: { status: 200 },
    1: { status: 503, problem: { code: 'temporarily_unavailable' } },
    2: { status: 200 },
  });
});

/** An API with an action whose database is a transaction in memory, and whose input is checked when it is released. */
async function serveAtomic(t: Parameters<typeof serveApi>[0], during: () => unknown = () => {}) {
  const checked = Promise.withResolvers<void>();
  const ran: number[] = [];
  const storage = {
    ...memoryStorage(),
    transaction: async (work: (database: object) => unknown) => work({}),
  };
  const action = defineAction({
    ...STEP,
    input: STEP.input.refine(async () => checked.promise.then(() => true)),
    database: {},
    async run({ input: { step } }) {
      ran.push(step);
      await during();
      return null;
    },
  });
  const api = await serveApi(t, { actions: [action], storage: storage as unknown as Storage });
  return { ...api, ran, checkInputs: () => checked.resolve() };
}

test('an atomic bulk is asked for before its transaction', async (t) => {
  const { checkInputs, platform, post, ran } = await serveAtomic(t);
  const authorization = `Bearer ${await platform.userToken({ jti: TOKEN })}`;
  const answering = post(BULK, { mode: 'atomic', items }, { authorization });
  await until(() => platform.counts.isActive === 1);
  endElsewhere(platform, ({ revoked }) => revoked.add(TOKEN));
  checkInputs();
  t.like(await answering, { status: 401, body: { code: 'token_revoked' } });
  t.deepEqual(ran, []);
});

test('nothing is read for the principal in the transaction of an atomic bulk, which holds a connection', async (t) => {
  const { checkInputs, platform, post, ran } = await serveAtomic(t, () => {
    platform.clock.time += LAG;
  });
  checkInputs();
  t.is((await post(BULK, { mode: 'atomic', items })).status, 200);
  t.is(ran.length, items.length);
  t.is(platform.counts.isActive, 1);
});
