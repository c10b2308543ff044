import { once } from 'node:events';
import { request as send } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';

import test from 'ava';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import type { ActionCall } from '../../lib/api/actions/define-action.ts';
import { request } from '../access/serve.ts';
import { serveApi } from './api.ts';
import type { Api } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const CREATE = '/actions/school/create-school-action/bulk';
const RENAME = '/actions/school/rename-school-action/bulk';

function twoSchools(): ReturnType<typeof schoolActions> {
  return schoolActions(new Map(['1', '2'].map((id) => [id, { id, name: 'Old' }])));
}

test('each item has its own status, with its output or problem, in the order of the items', async (t) => {
  const { rename, schools } = twoSchools();
  const { post } = await serveApi(t, { actions: [rename] });
  const { status, type, body } = await post(RENAME, {
    items: [
      { id: '1', input: { name: 'Hill School' } },
      { id: '3', input: { name: 'Nowhere' } },
      { id: '2', input: { name: '' } },
      { id: '2', input: { name: 'Harbour School' } },
    ],
  });
  t.is(status, 200);
  t.is(type, 'application/json; charset=utf-8');
  const problem = { type: 'about:blank', title: 'Not Found', status: 404 };
  t.deepEqual(body, {
    data: {
      mode: 'independent',
      dryRun: false,
      succeeded: 2,
      failed: 2,
      results: [
        { index: 0, status: 200, output: { id: '1', name: 'Hill School' } },
        {
          index: 1,
          status: 404,
          problem: {
            ...problem,
            detail: 'There is no school with this id.',
            code: 'school_not_found',
            message: 'There is no school with this id.',
          },
        },
        {
          index: 2,
          status: 422,
          problem: {
            type: 'about:blank',
            title: 'Unprocessable Entity',
            status: 422,
            detail: 'The body does not match the input schema; errors lists each mistake.',
            code: 'input_invalid',
            message: 'The body does not match the input schema; errors lists each mistake.',
            errors: [{ pointer: '#/items/2/input/name', message: 'Give 1 to 100 characters on one line.' }],
          },
        },
        { index: 3, status: 200, output: { id: '2', name: 'Harbour School' } },
      ],
    },
  });
  t.deepEqual(
    [...schools.values()].map(({ name }) => name),
    ['Hill School', 'Harbour School'],
  );
});

test('an invalid envelope is 422, and nothing runs', async (t) => {
  const { create, ran } = schoolActions();
  const { post } = await serveApi(t, { actions: [create], bulk: { maximum: 3 } });
  const item = { input: { name: 'Hill School' } };
  const cases: [unknown, { pointer: string; message: string }[]][] = [
    [undefined, [{ pointer: '#', message: 'Send an object with items.' }]],
    [[item], [{ pointer: '#', message: 'Send an object with items.' }]],
    ['"text"', [{ pointer: '#', message: 'Send an object with items.' }]],
    [{}, [{ pointer: '#/items', message: 'Give an array of items.' }]],
    [{ items: {} }, [{ pointer: '#/items', message: 'Give an array of items.' }]],
    [{ items: [] }, [{ pointer: '#/items', message: 'Give at least one item.' }]],
    [{ items: [item, item, item, item] }, [{ pointer: '#/items', message: 'Give at most 3 items.' }]],
    [
      { items: [item], mode: 'Atomic', dryRun: 'yes', dry_run: true },
      [
        { pointer: '#/dry_run', message: 'There is no such member.' },
        { pointer: '#/mode', message: 'Give "independent" or "atomic".' },
        { pointer: '#/dryRun', message: 'Give true or false.' },
      ],
    ],
  ];
  for (const [body, errors] of cases) {
    const answer = await post(CREATE, body);
    t.is(answer.status, 422);
    t.is(answer.body['code'], 'input_invalid');
    t.deepEqual(answer.body['errors'], errors);
  }
  t.deepEqual(ran, []);
});

test('an invalid item fails alone', async (t) => {
  const { create, rename } = twoSchools();
  const { post } = await serveApi(t, { actions: [create, rename] });
  const errorsOf = async (path: string, items: readonly unknown[]) => {
    const { body } = await post(path, { items });
    const { results } = body['data'] as { results: { problem?: { errors: unknown } }[] };
    return results.map(({ problem }) => problem?.errors);
  };
  t.deepEqual(
    await errorsOf(CREATE, [
      7,
      null,
      ['x'],
      { input: { name: 'A' }, extra: 1, id: '7' },
      { input: { name: 'B' } },
      {},
    ]),
    [
      noObject(0),
      noObject(1),
      noObject(2),
      [
        { pointer: '#/items/3/extra', message: 'There is no such member.' },
        { pointer: '#/items/3/id', message: 'create-school-action takes no id.' },
      ],
      undefined,
      [{ pointer: '#/items/5/input/name', message: 'Invalid input: expected string, received undefined' }],
    ],
  );
  const input = { name: 'A' };
  t.deepEqual(
    await errorsOf(RENAME, [
      { input },
      { id: 1, input },
      { id: '', input },
      { id: 'a\n', input },
      { id: '1', input },
    ]),
    [badId(0), badId(1), badId(2), badId(3), undefined],
  );
});

test('without the permission the whole bulk is 403', async (t) => {
  const { grade } = schoolActions();
  const { post } = await serveApi(t, { actions: [grade] });
  const { status, body } = await post('/actions/school/grade-school-action/bulk', { items: [{ id: '1' }] });
  t.is(status, 403);
  t.is(body['message'], 'You may not see grades.');
});

test('a dry run checks each item and runs none', async (t) => {
  const { rename, ran } = twoSchools();
  const { post } = await serveApi(t, { actions: [rename] });
  const { body } = await post(RENAME, {
    dryRun: true,
    items: [
      { id: '1', input: { name: 'Hill School' } },
      { id: '1', input: {} },
    ],
  });
  t.like(body['data'], { dryRun: true, succeeded: 1, failed: 1 });
  const { results } = body['data'] as { results: object[] };
  t.deepEqual(results[0], { index: 0, status: 200 });
  t.like(results[1], { index: 1, status: 422 });
  t.deepEqual(ran, []);
});

test('an item that fails with a 500 has a reference, and other items succeed', async (t) => {
  const { action } = stepAction(async ({ input: { step } }) => {
    if (step === 1) throw new Error('inner text');
    return step === 2 ? ('wrong' as unknown as number) : step;
  });
  const { post, platform } = await serveApi(t, { actions: [action] });
  const { status, body } = await post('/actions/step/take-action/bulk', { items: steps(4) });
  t.is(status, 200);
  t.false(JSON.stringify(body).includes('inner text'));
  const { results } = body['data'] as { results: { status: number; problem?: { reference: string } }[] };
  t.deepEqual(
    results.map((result) => result.status),
    [200, 500, 500, 200],
  );
  const references = platform.log.map(({ fields }) => fields['request_id']);
  t.deepEqual(new Set(references), new Set(results.slice(1, 3).map(({ problem }) => problem?.reference)));
});

test('at most `concurrency` items run at a time, those of one object one after the other, in order', async (t) => {
  let running = 0;
  let most = 0;
  const seen = new Map<string, number[]>();
  const action = defineAction({
    type: 'step',
    name: 'take-action',
    level: 'instance',
    title: 'Take',
    permission: 'edit_schools',
    input: z.object({ step: z.number() }),
    output: z.null(),
    async run({ id, input: { step } }) {
      running += 1;
      most = Math.max(most, running);
      const taken = seen.get(id) ?? [];
      t.is(taken.length % 2, 0, 'no other item of the object is running');
      seen.set(id, [...taken, step]);
      await nextTurns(step % 3);
      seen.get(id)!.push(step);
      running -= 1;
      return null;
    },
  });
  const { post } = await serveApi(t, { actions: [action], bulk: { concurrency: 3 } });
  const items = Array.from({ length: 60 }, (_, step) => ({ id: String(step % 5), input: { step } }));
  t.is((await post('/actions/step/take-action/bulk', { items })).status, 200);
  t.is(most, 3);
  for (const [id, taken] of seen) {
    const expected = items.filter((item) => item.id === id).flatMap(({ input: { step } }) => [step, step]);
    t.deepEqual(taken, expected);
  }
});

test('as NDJSON, each result is sent when its item ends, and the last line has the counts', async (t) => {
  const { action, release } = stepAction();
  const api = await serveApi(t, { actions: [action] });
  const { response, lines } = await stream(api, { items: [...steps(3), { input: {} }] });
  t.is(response.statusCode, 200);
  t.is(response.headers['content-type'], 'application/x-ndjson; charset=utf-8');
  t.is(response.headers['cache-control'], 'no-store');
  // The invalid item ends at once; the others when they are released.
  t.like(await lines.next(), { value: { index: 3, status: 422 } });
  for (const step of [2, 0, 1]) {
    release(step);
    t.deepEqual((await lines.next()).value, { index: step, status: 200, output: step });
  }
  t.deepEqual((await lines.next()).value, { succeeded: 3, failed: 1 });
  t.true((await lines.next()).done);
});

test('the response is JSON unless NDJSON is accepted', async (t) => {
  const { create } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  for (const [accept, type] of [
    ['*/*', 'application/json; charset=utf-8'],
    ['application/json, application/x-ndjson;q=0.5', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
    ['application/x-ndjson', 'application/x-ndjson; charset=utf-8'],
    ['application/x-ndjson, application/problem+json', 'application/x-ndjson; charset=utf-8'],
  ] as const) {
    t.is((await post(CREATE, { items: [{ input: { name: 'A' } }] }, { accept })).type, type, accept);
  }
  const refused = await post(CREATE, { items: [] }, { accept: 'application/x-ndjson' });
  t.is(refused.status, 422);
  t.is(refused.type, 'application/problem+json; charset=utf-8');
});

for (const accept of ['application/json', 'application/x-ndjson']) {
  test(`a caller that disconnects stops the remaining items: ${accept}`, async (t) => {
    const { action, release, began, signals } = stepAction();
    const api = await serveApi(t, { actions: [action], bulk: { concurrency: 2 } });
    const outgoing = await open(api, { items: steps(100) }, { accept });
    await began(1);
    outgoing.destroy();
    await once(signals[0]!, 'abort');
    release(0);
    release(1);
    // After the response to another request, further items would have started.
    await api.post('/actions/step/take-action/bulk', { items: [] });
    t.is(signals.length, 2);
    t.deepEqual(api.platform.log, []);
    t.true(
      api.errors.every((error) => (error as { expose?: boolean }).expose),
      'no error that Koa prints',
    );
  });
}

test('a client that does not read the response slows the bulk down', async (t) => {
  let ran = 0;
  const action = defineAction({
    ...PLAIN,
    type: 'step',
    name: 'take-action',
    input: z.object({ step: z.number() }),
    output: z.string(),
    run() {
      ran += 1;
      return 'x'.repeat(100_000);
    },
  });
  const api = await serveApi(t, { actions: [action] });
  const outgoing = await open(api, { items: steps(300) }, { accept: 'application/x-ndjson' });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  // Nothing is read, so the buffers of both sides fill and the bulk stops.
  for (let before = -1; before !== ran;) {
    before = ran;
    await nextTurns(50);
  }
  t.true(ran < 150, `${ran} ran`);
  let length = 0;
  for await (const chunk of response) length += (chunk as Buffer).length;
  t.is(ran, 300);
  t.true(length > 30_000_000);
});

test('a bulk whose items do not wait leaves time for other requests', async (t) => {
  const action = defineAction({
    ...PLAIN,
    type: 'step',
    name: 'take-action',
    input: z.object({ step: z.number() }),
    run() {
      for (const startedAt = performance.now(); performance.now() - startedAt < 2;);
      return null;
    },
  });
  const { origin, platform, post } = await serveApi(t, { actions: [action] });
  const token = await platform.userToken();
  const ended: string[] = [];
  const calls = async () => {
    for (let call = 0; call < 3; call += 1) await request(`${origin}/api/v1/identity`, token);
    ended.push('calls');
  };
  const bulk = async () => {
    await post('/actions/step/take-action/bulk', { items: steps(200) });
    ended.push('bulk');
  };
  await Promise.all([bulk(), calls()]);
  t.deepEqual(ended, ['calls', 'bulk']);
});

test('the body of a bulk has its own limit', async (t) => {
  const { create } = schoolActions();
  const { post } = await serveApi(t, { actions: [create], bodyLimit: 10, bulk: { bodyLimit: 100 } });
  t.is((await post(CREATE, { items: [{ input: { name: 'Hill School' } }] })).status, 200);
  const { status, body } = await post(CREATE, { items: [{ input: { name: 'a'.repeat(100) } }] });
  t.is(status, 413);
  t.is(body['message'], 'The body is larger than 100 bytes.');
});

function noObject(index: number): object[] {
  return [{ pointer: `#/items/${index}`, message: 'Give an object with input.' }];
}

function badId(index: number): object[] {
  return [
    { pointer: `#/items/${index}/id`, message: 'An id has 1 to 255 characters, and no control characters.' },
  ];
}

function steps(count: number): { input: { step: number } }[] {
  return Array.from({ length: count }, (_, step) => ({ input: { step } }));
}

/** An action whose items end when they are released, or with the given `run`. */
function stepAction(run?: (call: ActionCall<{ step: number }>) => Promise<number>) {
  const ends = new Map<number, PromiseWithResolvers<void>>();
  const begins = new Map<number, PromiseWithResolvers<void>>();
  const at = (map: typeof ends, step: number) => {
    if (!map.has(step)) map.set(step, Promise.withResolvers());
    return map.get(step)!;
  };
  const signals: AbortSignal[] = [];
  return {
    signals,
    began: async (step: number) => at(begins, step).promise,
    release: (step: number) => at(ends, step).resolve(),
    action: defineAction({
      ...PLAIN,
      type: 'step',
      name: 'take-action',
      input: z.object({ step: z.number() }),
      output: z.number(),
      async run(call) {
        if (run) return run(call);
        const { step } = call.input;
        signals.push(call.signal);
        at(begins, step).resolve();
        await at(ends, step).promise;
        return step;
      },
    }),
  };
}

async function open({ origin, platform }: Api, body: object, headers: Record<string, string>) {
  const outgoing = send(`${origin}/api/v1/actions/step/take-action/bulk`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${await platform.userToken()}`,
      'content-type': 'application/json',
      ...headers,
    },
  });
  outgoing.on('error', () => {});
  outgoing.end(JSON.stringify(body));
  return outgoing;
}

async function stream(api: Api, body: object) {
  const outgoing = await open(api, body, { accept: 'application/x-ndjson' });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const lines = (async function* parsed() {
    for await (const line of createInterface({ input: response })) yield JSON.parse(line) as unknown;
  })();
  return { response, lines };
}

async function nextTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
