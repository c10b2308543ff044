import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createInterface } from 'node:readline';

import test from '../harness/test.ts';
import { z } from 'zod';

import { indexActions } from '../../lib/api/actions/action-index.ts';
import { defineAction } from '../../lib/api/actions/define-action.ts';
import { answerIndependently } from '../../lib/api/bulk/items.ts';
import type { Principal } from '../../lib/contracts/index.ts';
import { createPlatform, gate } from '../access/platform.ts';
import { serveApi } from './api.ts';
import type { Api } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const CREATE = '/actions/school/create-school-action/bulk';
const RENAME = '/actions/school/rename-school-action/bulk';
const TAKE = '/actions/step/take-action/bulk';

const STEP = { ...PLAIN, type: 'step', name: 'take-action', input: z.object({ step: z.number() }) } as const;

function twoSchools(): ReturnType<typeof schoolActions> {
  return schoolActions(new Map(['1', '2'].map((id) => [id, { id, name: 'Old' }])));
}

function problemOf(code: string, message: string): object {
  return { type: 'about:blank', detail: message, code, message };
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
            ...problemOf('school_not_found', 'There is no school with this id.'),
            title: 'Not Found',
            status: 404,
          },
        },
        {
          index: 2,
          status: 422,
          problem: {
            ...problemOf(
              'input_invalid',
              'The body does not match the input schema; errors lists each mistake.',
            ),
            title: 'Unprocessable Entity',
            status: 422,
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
  const { post } = await serveApi(t, { actions: [create], bulk: { maxItems: 3 } });
  const item = { input: { name: 'Hill School' } };
  const cases: [unknown, ...errors: [pointer: string, message: string][]][] = [
    [undefined, ['#', 'Send an object with items.']],
    [[item], ['#', 'Send an object with items.']],
    [{}, ['#/items', 'Give an array of items.']],
    [{ items: {} }, ['#/items', 'Give an array of items.']],
    [{ items: [] }, ['#/items', 'Give at least one item.']],
    [{ items: [item, item, item, item] }, ['#/items', 'Give at most 3 items.']],
    [
      { items: [item], mode: 'Atomic', dryRun: 'yes', dry_run: true },
      ['#/dry_run', 'There is no such member.'],
      ['#/mode', 'Give "independent" or "atomic".'],
      ['#/dryRun', 'Give true or false.'],
    ],
  ];
  for (const [given, ...errors] of cases) {
    const { status, body } = await post(CREATE, given);
    t.is(status, 422);
    t.is(body['code'], 'input_invalid');
    t.deepEqual(
      body['errors'],
      errors.map(([pointer, message]) => ({ pointer, message })),
    );
  }
  t.deepEqual(ran, []);
});

function noObject(index: number): object[] {
  return [{ pointer: `#/items/${index}`, message: 'Give an object with input.' }];
}

test('an invalid item fails alone', async (t) => {
  const { create, rename } = twoSchools();
  const { post } = await serveApi(t, { actions: [create, rename] });
  const errorsOf = async (path: string, items: readonly unknown[]) => {
    const { body } = await post(path, { items });
    const { results } = body['data'] as { results: { problem?: { errors: unknown } }[] };
    return results.map(({ problem }) => problem?.errors);
  };
  const input = { name: 'A' };
  t.deepEqual(await errorsOf(CREATE, [7, null, ['x'], { input, extra: 1, id: '7' }, { input }, {}]), [
    noObject(0),
    noObject(1),
    noObject(2),
    [
      { pointer: '#/items/3/extra', message: 'There is no such member.' },
      { pointer: '#/items/3/id', message: 'create-school-action takes no id.' },
    ],
    undefined,
    [{ pointer: '#/items/5/input/name', message: 'Invalid input: expected string, received undefined' }],
  ]);
  const message = 'An id has 1 to 255 characters, and no control characters.';
  const wrongIds = [undefined, 1, '', 'a\n'];
  t.deepEqual(
    await errorsOf(
      RENAME,
      [...wrongIds, '1'].map((id) => ({ id, input })),
    ),
    [...wrongIds.map((_, index) => [{ pointer: `#/items/${index}/id`, message }]), undefined],
  );
});

test('a dry run checks each item and runs none', async (t) => {
  const { rename, ran } = twoSchools();
  const { post } = await serveApi(t, { actions: [rename] });
  const items = ['Hill School', ''].map((name) => ({ id: '1', input: { name } }));
  const { body } = await post(RENAME, { dryRun: true, items });
  t.like(body['data'], { dryRun: true, succeeded: 1, failed: 1 });
  const { results } = body['data'] as { results: object[] };
  t.deepEqual(results[0], { index: 0, status: 200 });
  t.like(results[1], { index: 1, status: 422 });
  t.deepEqual(ran, []);
});

test('an item that fails with a 500 has a reference, and other items succeed', async (t) => {
  const action = defineAction({
    ...STEP,
    output: z.number(),
    run({ input: { step } }) {
      if (step === 1) throw new Error('inner text');
      return step === 2 ? ('wrong' as unknown as number) : step;
    },
  });
  const { post, platform } = await serveApi(t, { actions: [action] });
  const { status, body } = await post(TAKE, { items: steps(4) });
  t.is(status, 200);
  t.false(JSON.stringify(body).includes('inner text'));
  const { results } = body['data'] as { results: { status: number; problem?: { reference: string } }[] };
  t.deepEqual(
    results.map((result) => result.status),
    [200, 500, 500, 200],
  );
  const references = platform.log.map(({ fields }) => String(fields['request_id']));
  t.deepEqual(
    references.toSorted(),
    results
      .slice(1, 3)
      .map(({ problem }) => String(problem?.reference))
      .toSorted(),
  );
});

test('at most `concurrency` items run at a time, those of one object one after the other, in order', async (t) => {
  let running = 0;
  let most = 0;
  const seen = new Map<string, number[]>();
  const action = defineAction({
    ...STEP,
    level: 'instance',
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
  t.is((await post(TAKE, { items })).status, 200);
  t.is(most, 3);
  for (const [id, taken] of seen) {
    const expected = items.filter((item) => item.id === id).flatMap(({ input: { step } }) => [step, step]);
    t.deepEqual(taken, expected);
  }
});

test('as NDJSON, each result is sent when its item ends, and the last line has the counts', async (t) => {
  const { action, release } = stepAction();
  const api = await serveApi(t, { actions: [action] });
  const response = await respond(api, [...steps(3), { input: {} }]);
  const lines = createInterface({ input: response })[Symbol.asyncIterator]();
  const next = async (): Promise<unknown> => JSON.parse((await lines.next()).value ?? 'null');
  t.is(response.statusCode, 200);
  t.is(response.headers['content-type'], 'application/x-ndjson; charset=utf-8');
  t.is(response.headers['cache-control'], 'no-store');
  // The invalid item ends at once; the others when they are released.
  t.like(await next(), { index: 3, status: 422 });
  for (const step of [2, 0, 1]) {
    release(step);
    t.deepEqual(await next(), { index: step, status: 200, output: step });
  }
  t.deepEqual(await next(), { succeeded: 3, failed: 1 });
  t.true((await lines.next()).done);
});

test('a stream leaves the host its listeners of the response', async (t) => {
  const { create } = schoolActions();
  const { call, platform } = await serveApi(t, {
    actions: [create],
    before: [
      async ({ res }, next) => {
        // As compression, a log and a trace do.
        for (let count = 0; count < 3; count += 1) res.on('close', () => {});
        await next();
      },
    ],
  });
  const warnings: string[] = [];
  const warn = ({ message }: Error): number => warnings.push(message);
  process.on('warning', warn);
  t.teardown(() => process.off('warning', warn));
  const { status, text } = await call(CREATE, await platform.userToken(), {
    method: 'POST',
    headers: { accept: 'application/x-ndjson', 'content-type': 'application/json' },
    body: JSON.stringify({ items: [{ input: { name: 'Hill School' } }] }),
  });
  t.is(status, 200);
  t.true(text.endsWith('{"succeeded":1,"failed":0}\n'), text);
  t.deepEqual(warnings, []);
});

test('the response is JSON unless NDJSON is accepted', async (t) => {
  const { create } = schoolActions();
  const { post } = await serveApi(t, { actions: [create] });
  for (const [accept, type] of [
    ['*/*', 'application/json; charset=utf-8'],
    ['application/json, application/x-ndjson;q=0.5', 'application/json; charset=utf-8'],
    ['text/html', 'application/json; charset=utf-8'],
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
    const outgoing = await api.open(TAKE, { items: steps(100) }, { accept });
    await began(1);
    outgoing.destroy();
    await once(signals[0]!, 'abort');
    release(0);
    release(1);
    // After the response to another request, further items would have started.
    await api.post(TAKE, { items: [] });
    t.is(signals.length, 2);
    t.deepEqual(api.platform.log, []);
    t.true(
      api.errors.every((error) => (error as { expose?: boolean }).expose),
      'no error that Koa prints',
    );
  });
}

test('a bulk with a key that another attempt has taken over is a 503 that is not stored', async (t) => {
  const { action, began, release } = stepAction();
  const taken = new AbortController();
  const [indexed] = indexActions([action], { gate, issuer: 'https://platform.example' }).all;
  const answering = answerIndependently({
    action: indexed!,
    items: steps(3),
    mode: 'independent',
    dryRun: false,
    concurrency: 1,
    reauthenticate: () => ({ permissions: new Set(['edit_schools']) }) as unknown as Principal,
    log: { logger: createPlatform().logger, requestId: 'one' },
    signal: taken.signal,
  });
  await began(0);
  taken.abort();
  release(0);
  const { answer, replay } = await answering;
  t.is(answer.status, 503);
  t.like(JSON.parse(answer.body), { code: 'aborted' });
  t.false(replay);
});

test('a client that does not read the response slows the bulk down', async (t) => {
  let ran = 0;
  const action = defineAction({
    ...STEP,
    output: z.string(),
    run() {
      ran += 1;
      return 'x'.repeat(100_000);
    },
  });
  const api = await serveApi(t, { actions: [action] });
  const response = await respond(api, steps(300));
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

test('a stream ends after `bulk.streamTimeout`, however it is read, and no further item runs', async (t) => {
  const { action, began, release, signals } = stepAction();
  const api = await serveApi(t, { actions: [action], bulk: { concurrency: 2, streamTimeout: 1 } });
  release(0);
  const response = await respond(api, steps(100));
  const lines: string[] = [];
  const ended = (async () => {
    for await (const line of createInterface({ input: response })) lines.push(line);
  })();
  await began(2);
  await Promise.all([t.throwsAsync(ended, { message: 'aborted' }), once(signals[1]!, 'abort')]);
  t.deepEqual(lines, ['{"index":0,"status":200,"output":0}'], 'without the last line, it is incomplete');
  release(1);
  release(2);
  // After the response to another request, further items would have started.
  await api.post(TAKE, { items: [] });
  t.is(signals.length, 3);
  t.deepEqual(api.platform.log, []);
  t.true(api.errors.every((error) => (error as { expose?: boolean }).expose));
});

// Counts turns of the event loop.
test.serial(
  'bulks whose items do not wait leave time for other requests: one goes on in each turn',
  async (t) => {
    let turn = new Set<string>();
    const turns: Set<string>[] = [];
    const compute = defineAction({
      ...PLAIN,
      name: 'compute-action',
      input: z.object({ bulk: z.string() }),
      run({ input }) {
        turn.add(input.bulk);
        for (const startedAt = performance.now(); performance.now() - startedAt < 1;);
        return null;
      },
    });
    const { post } = await serveApi(t, { actions: [compute] });
    let isOver = false;
    setImmediate(function next() {
      if (turn.size > 0) turns.push(turn);
      turn = new Set();
      if (!isOver) setImmediate(next);
    });
    const bulks = ['a', 'b', 'c', 'd'].map(async (bulk) =>
      post('/actions/school/compute-action/bulk', {
        items: Array.from({ length: 50 }, () => ({ input: { bulk } })),
      }),
    );
    for (const { status } of await Promise.all(bulks)) t.is(status, 200);
    isOver = true;
    t.true(turns.length > 50, `${turns.length} turns`);
    // A bulk begins, and may end, in the turn of another one.
    const shared = turns.filter(({ size }) => size > 1).length;
    t.true(shared <= 2 * bulks.length, `${shared} of ${turns.length} turns had more than one bulk`);
  },
);

test('the body of a bulk has its own limit', async (t) => {
  const { create } = schoolActions();
  const { post } = await serveApi(t, { actions: [create], maxBodyBytes: 10, bulk: { maxBodyBytes: 100 } });
  t.is((await post(CREATE, { items: [{ input: { name: 'Hill School' } }] })).status, 200);
  const { status, body } = await post(CREATE, { items: [{ input: { name: 'a'.repeat(100) } }] });
  t.is(status, 413);
  t.is(body['message'], 'The body is larger than 100 bytes.');
});

function steps(count: number): { input: { step: number } }[] {
  return Array.from({ length: count }, (_, step) => ({ input: { step } }));
}

/** An action whose items end when they are released. */
function stepAction() {
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
      ...STEP,
      output: z.number(),
      async run({ input: { step }, signal }) {
        signals.push(signal);
        at(begins, step).resolve();
        await at(ends, step).promise;
        return step;
      },
    }),
  };
}

/** The response to a bulk, whose lines are not read yet. */
async function respond(api: Api, items: object[]): Promise<IncomingMessage> {
  const outgoing = await api.open(TAKE, { items }, { accept: 'application/x-ndjson' });
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  return response;
}

async function nextTurns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}
