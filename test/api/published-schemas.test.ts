import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import test from '../harness/test.ts';
import { z } from 'zod';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { serveApi } from './api.ts';
import { PLAIN } from './school-actions.ts';

/** An input that uses every feature of JSON Schema. */
const EVERYTHING = z.object({
  name: z.string().regex(/^\S(?:.{0,18}\S)?$/u),
  pupils: z.int().min(0).max(5000).default(30),
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

const FINE = {
  name: 'Hill School',
  grade: 6,
  kind: 'primary',
  head: { email: 'ann@school.example' },
  tags: ['a'],
  address: { type: 'street', street: '' },
};

const ID = '8e03978e-40d5-43dd-bc93-6894a57f9324';

/** Values of members that are accepted, and others that are refused. `undefined`: it is left out. */
const VALUES: Readonly<Record<keyof typeof EVERYTHING.shape | 'more', [unknown[], unknown[]]>> = {
  name: [
    ['a', '😀'.repeat(20), 'ü ñ'],
    ['', ' ', 'a ', 'a\nb', '😀'.repeat(21), 7, undefined],
  ],
  pupils: [
    [0, 5000, undefined, 1e3],
    [-1, 5001, 0.5, '30', null],
  ],
  grade: [
    [null, 0.1, 6],
    [0, 6.1, '6', undefined],
  ],
  kind: [['secondary'], ['Primary', '', null, undefined]],
  founded: [
    ['1999-12-31', '2000-02-29', undefined],
    ['1999-02-29', '1999-1-1', '1999-12-31T00:00:00Z', null],
  ],
  head: [
    [{ email: 'ann@school.example', id: ID }],
    [
      {},
      { email: 'ann' },
      { email: 'ann@school.example', id: 'x' },
      { email: 'ann@school.example', more: 1 },
      [],
    ],
  ],
  tags: [[['a', 'd_1', 'A9']], [[], ['a', 'b', 'c', 'd'], [''], ['b c'], ['é'], 'a', {}]],
  address: [[{ type: 'box', box: 5, more: 1 }], [{ type: 'box', street: 'a' }, { type: 'x' }, {}, null]],
  rooms: [
    [{}, { 'ü 😀': true }],
    [{ a: 1 }, [], 'a'],
  ],
  more: [[true, null], []],
};

test('an independent validator accepts the published schemas, and agrees with the server', async (t) => {
  const found = { ...PLAIN, input: EVERYTHING, output: EVERYTHING } as const;
  const action = defineAction({ ...found, name: 'found-school-action', run: ({ input }) => input });
  const { call, platform, post } = await serveApi(t, { actions: [action] });
  const path = '/actions/school/found-school-action';
  const { body } = await call(path, await platform.userToken());
  const { input, output } = body['data'] as { input: object; output: object };
  const ajv = new Ajv2020({ strict: true, allowUnionTypes: true });
  addFormats.default(ajv);
  const [accepts, fits] = [ajv.compile(input), ajv.compile(output)];
  const cases: [given: unknown, status: number][] = [[], 'text', 7, null, {}].map((given) => [given, 422]);
  for (const [name, [accepted, refused]] of Object.entries(VALUES)) {
    for (const value of accepted) cases.push([{ ...FINE, [name]: value }, 200]);
    for (const value of refused) cases.push([{ ...FINE, [name]: value }, 422]);
  }
  for (const [given, status] of cases) {
    const answer = await post(path, JSON.stringify(given));
    t.is(answer.status, status, JSON.stringify(given));
    t.is(accepts(given), status === 200, JSON.stringify(given));
    if (status === 200) t.true(fits(answer.body['data']), answer.text);
  }
});
