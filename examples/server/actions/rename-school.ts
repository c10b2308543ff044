import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { findSchool, NAME, SCHOOL } from './school.ts';

export function renameSchool(knex: Knex): Action<'edit_schools'> {
  return defineAction({
    type: 'school',
    name: 'rename-school-action',
    level: 'instance',
    title: 'Rename a school',
    description: 'Gives a school another name.',
    permission: 'edit_schools',
    mcp: true,
    idempotent: true,
    input: z.object({ name: NAME }),
    output: SCHOOL,
    database: knex,
    async run({ id, input: { name }, database }) {
      await database('schools').where({ id }).update({ name });
      return findSchool(database, id);
    },
  });
}
