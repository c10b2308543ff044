import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { gate } from '../gate.ts';
import { findSchool, NAME, SCHOOL } from './school.ts';

export function renameSchool(knex: Knex): Action<'edit_schools'> {
  return defineAction({
    gate,
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
    // The rule of the permission decides about it.
    object: async ({ id, database }) => findSchool(database, id),
    async run({ input: { name }, object: school, database }) {
      await database('schools').where({ id: school.id }).update({ name });
      return { ...school, name };
    },
  });
}
