import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import { z } from 'zod';

import { same } from './same.ts';

const common = { type: 'school', title: 'Change a school', permission: 'edit_schools' } as const;

// `run` gets the output type of the input schema, and returns the input type of the output schema.
defineAction({
  ...common,
  name: 'plan-inspection-action',
  level: 'collection',
  input: z.object({ on: z.iso.date(), notes: z.string().optional(), length: z.number().default(2) }),
  output: z.object({ id: z.string(), length: z.number().default(2) }),
  async run({ id, input }) {
    same<typeof input, { on: string; notes?: string | undefined; length: number }>();
    same<typeof id, undefined>();
    // @ts-expect-error the input has no such member
    void input.date;
    return { id: input.on };
  },
});

// The second definition of each pair is the first with one error.
defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  input: z.object({ reason: z.string() }),
  output: z.object({ closed: z.boolean() }),
  run: ({ id, input }) => ({ closed: id !== input.reason }),
});
defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  input: z.object({ reason: z.string() }),
  output: z.object({ closed: z.boolean() }),
  // @ts-expect-error the result is not a boolean
  run: ({ id, input }) => ({ closed: id + input.reason }),
});
defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  input: z.object({ reason: z.string() }),
  output: z.object({ closed: z.boolean() }),
  // @ts-expect-error the result lacks a member
  run: async () => ({}),
});
defineAction({
  ...common,
  name: 'close-school-action',
  // @ts-expect-error there is no such level
  level: 'object',
  input: z.object({}),
  output: z.null(),
  run: () => null,
});
defineAction({
  ...common,
  // @ts-expect-error the name of an action ends in -action
  name: 'close-school',
  level: 'instance',
  input: z.object({}),
  output: z.null(),
  run: () => null,
});
defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  // @ts-expect-error a JSON Schema by itself has no types
  input: { type: 'object' },
  output: z.null(),
  run: () => null,
});

// `database` has the type of the given one.
declare const db: Knex;
defineAction({
  ...common,
  name: 'close-school-action',
  level: 'instance',
  input: z.object({}),
  output: z.null(),
  database: db,
  async run({ database, dryRun, signal }) {
    same<typeof database, Knex>();
    same<typeof dryRun, boolean>();
    same<typeof signal, AbortSignal>();
    return null;
  },
});
