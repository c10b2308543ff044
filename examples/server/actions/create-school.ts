import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { gate } from '../gate.ts';
import { CITY, NAME, SCHOOL } from './school.ts';

export function createSchool(knex: Knex): Action<'edit_schools'> {
  return defineAction({
    gate,
    type: 'school',
    name: 'create-school-action',
    level: 'collection',
    title: 'Create a school',
    description: 'Adds a school. It takes new pupils unless you say otherwise.',
    permission: 'edit_schools',
    mcp: true,
    destructive: false,
    input: z.object({ name: NAME, city: CITY, open: z.boolean().optional() }),
    output: SCHOOL,
    database: knex,
    // The school that it would be, which the rule of the permission decides about.
    object: ({ input: { open = true } }) => ({ open }),
    async run({ input: { name, city }, object: { open }, database }) {
      const school = { id: crypto.randomUUID(), name, city, open };
      await database('schools').insert(school);
      return school;
    },
  });
}
