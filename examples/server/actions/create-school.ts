import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { CITY, NAME, SCHOOL } from './school.ts';

export function createSchool(knex: Knex): Action<'edit_schools'> {
  return defineAction({
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
    async run({ input: { name, city, open = true }, database }) {
      const school = { id: crypto.randomUUID(), name, city, open };
      await database('schools').insert(school);
      return school;
    },
  });
}
