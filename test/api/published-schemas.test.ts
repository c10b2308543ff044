import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from 'ava';
import fc from 'fast-check';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { request } from '../access/serve.ts';
import { SEED } from '../harness/seed.ts';
import { serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

/** An input that uses every feature of JSON Schema. */
const EVERYTHING = z.object({
  name: z.string().regex(/^\S(?:.{0,18}\S)?$/u),
  pupils: z.int().min(0).max(5000),
  grade: z.number().gt(0).lte(6).nullable(),
  kind: z.enum(['primary', 'secondary']),
  founded: z.iso.date().optional(),
  head: z.strictObject({ email: z.email(), id: z.uuid().optional() }),
  tags: z.array(z.string().regex(/^\w+$/)).min(1).max(3),
  address: z.discriminatedUnion('type', [
    z.object({ type: z.literal('street'), street: z.string() }),
    z.object({ type: z.literal('box'), box: z.int() }),
  ]),
  rooms: z.record(z.string(), z.boolean()).optional(),
});

const everything = defineAction({
  ...PLAIN,
  name: 'found-school-action',
  input: EVERYTHING,
  output: EVERYTHING,
  run: ({ input }) => input,
});

const { create, rename } = schoolActions();

/** JSON as a body may contain it. */
const anything = fc
  .jsonValue({ maxDepth: 3, stringUnit: 'grapheme' })
  .map((value) => JSON.parse(JSON.stringify(value)) as unknown);

const fine = fc.record(
  {
    name: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 }),
    pupils: fc.nat(5100),
    grade: fc.option(fc.double({ min: 0, max: 7, noNaN: true })),
    kind: fc.constantFrom('primary', 'secondary', 'Primary'),
    founded: fc.constantFrom('1999-12-31', '1999-02-29', '2000-02-29', '1999-1-1'),
    head: fc.record(
      { email: fc.oneof(fc.emailAddress(), fc.constant('ann@school.example')), id: fc.uuid() },
      { requiredKeys: ['email'] },
    ),
    tags: fc.array(fc.constantFrom('a', 'b c', 'd_1', ''), { maxLength: 4 }),
    address: fc.oneof(
      fc.record({ type: fc.constant('street'), street: fc.string() }),
      fc.record({ type: fc.constantFrom('box', 'street'), box: fc.integer() }),
    ),
    rooms: fc.dictionary(fc.string({ unit: 'grapheme' }), fc.boolean()),
    more: fc.boolean(),
  },
  { requiredKeys: ['name', 'pupils', 'grade', 'kind', 'head', 'tags', 'address'] },
);

/** A valid input with one member replaced or removed, or any other value. */
const inputs = fc.oneof(
  { weight: 3, arbitrary: fine },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fine, fc.constantFrom(...Object.keys(EVERYTHING.shape)), fc.option(anything, { nil: undefined }))
      .map(([input, name, value]) => Object.assign(input, { [name]: value })),
  },
  { weight: 1, arbitrary: anything },
);

test('an independent validator accepts the published schemas, and agrees with the server on random input', async (t) => {
  const { origin, platform, post } = await serveApi(t, { actions: [create, rename, everything] });
  const token = await platform.userToken();
  const verdicts = { accepted: 0, refused: 0 };
  for (const { name, level } of [create, rename, everything]) {
    const { body } = await request(`${origin}/api/v1/actions/school/${name}`, token);
    const { input, output } = body['data'] as { input: object; output: object };
    const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
    addFormats.default(ajv);
    const accepts = ajv.compile(input);
    t.notThrows(() => ajv.compile(output));
    await fc.assert(
      fc.asyncProperty(fc.array(inputs, { minLength: 50, maxLength: 50 }), async (given) => {
        const items = given
          .map((one) => JSON.parse(JSON.stringify(one)) as unknown)
          .map((one) => (level === 'instance' ? { id: '1', input: one } : { input: one }));
        const answer = await post(`/actions/school/${name}/bulk`, { dryRun: true, items });
        const { results } = answer.body['data'] as { results: { status: number }[] };
        for (const [index, { status }] of results.entries()) {
          const expected = accepts(items[index]!.input) ? 200 : 422;
          if (status === 200) verdicts.accepted += 1;
          else verdicts.refused += 1;
          if (status !== expected) {
            throw new Error(`The server says ${status}, ajv ${expected}: ${JSON.stringify(items[index])}`);
          }
        }
      }),
      { seed: SEED, numRuns: 5 },
    );
  }
  t.true(verdicts.accepted > 100, JSON.stringify(verdicts));
  t.true(verdicts.refused > 100, JSON.stringify(verdicts));
});
