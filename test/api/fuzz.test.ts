import test from 'ava';
import fc from 'fast-check';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { randomText } from '../harness/random-text.ts';
import { SEED } from '../harness/seed.ts';
import { serveApi } from './api.ts';
import { schoolActions } from './school-actions.ts';

const PATHS = [
  'create-school-action',
  '1/rename-school-action',
  'create-school-action/bulk',
  'rename-school-action/bulk',
];

const member = fc.constantFrom('items', 'mode', 'dryRun', 'id', 'input', 'name', '__proto__', 'constructor');
const words = ['atomic', 'independent', '1', '', '\0', '\uD800', '../..'];
const value = fc.letrec((tie) => ({
  any: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(...words, true, false, null, 0, -1, 1e308),
    randomText(),
    fc.array(tie('any'), { maxLength: 5 }),
    fc.dictionary(member, tie('any'), { maxKeys: 5 }),
  ),
})).any;

/** A bulk or any other text, sometimes cut off. */
const bodies = fc
  .tuple(
    fc.oneof(
      fc.record(
        { items: fc.array(fc.record({ id: value, input: value })), mode: value, dryRun: value },
        { requiredKeys: ['items'] },
      ),
      fc.record({ name: value }),
      value,
    ),
    fc.option(fc.nat(100), { freq: 5 }),
  )
  .map(([body, cut]) => JSON.stringify(body).slice(0, cut ?? undefined));

const headers = fc.record(
  {
    'content-type': fc.constantFrom('application/json', 'application/json; charset=x', 'text/plain', 'a', ''),
    accept: fc.constantFrom('application/x-ndjson', '*/*', 'a', 'application/*;q=x', ',,'),
    'idempotency-key': fc.oneof(fc.constantFrom('a', 'b', '"a"', '"', 'a, b'), fc.string({ maxLength: 300 })),
  },
  { requiredKeys: ['content-type'] },
);

const KEYED = { 'content-type': 'application/json', 'idempotency-key': 'conflict' };

/** One request of each kind of answer, which the random ones need not contain. */
const EXAMPLES: [path: string, body: string, headers: Record<string, string>][] = [
  ['create-school-action', '{"name":"Hill School"}', KEYED],
  ['create-school-action', '{"name":"Valley School"}', KEYED],
  ['create-school-action', '{', { 'content-type': 'application/json' }],
  ['create-school-action', '{}', { 'content-type': 'text/plain' }],
  ['create-school-action', '{}', { 'content-type': 'application/json' }],
];

test('any body is answered with JSON and a status below 500', async (t) => {
  const { create, rename } = schoolActions(new Map([['1', { id: '1', name: 'Old' }]]));
  const storage = {
    ...memoryStorage(),
    transaction: async <T>(work: (transaction: unknown) => Promise<T>) => work({}),
  };
  const atomic = [create, rename].map((action) => Object.freeze({ ...action, database: {} }));
  const { post, platform, errors } = await serveApi(t, { storage, actions: atomic });
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...PATHS), bodies, headers, async (path, body, sent) => {
      const { status, type } = await post(`/actions/school/${path}`, body, sent);
      statuses.add(status);
      if (status >= 500 || !type?.includes('json')) throw new Error(`${status} ${type}`);
    }),
    { seed: SEED, numRuns: 300, examples: EXAMPLES },
  );
  for (const expected of [200, 400, 409, 415, 422]) t.true(statuses.has(expected), String(expected));
  t.deepEqual(platform.log, []);
  t.deepEqual(errors, []);
});
