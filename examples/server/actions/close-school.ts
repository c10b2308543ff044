import type { Knex } from 'knex';
import { ActionError, defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { findSchool, SCHOOL } from './school.ts';

export function closeSchool(knex: Knex): Action<'close_schools'> {
  return defineAction({
    type: 'school',
    name: 'close-school-action',
    level: 'instance',
    title: 'Close a school',
    description: 'The school takes no more new pupils this year.',
    permission: 'close_schools',
    mcp: true,
    input: z.object({}),
    output: SCHOOL,
    database: knex,
    async run({ id, database }) {
      const closed = await database('schools').where({ id, open: true }).update({ open: false });
      const school = await findSchool(database, id);
      if (closed === 0) throw new ActionError(409, 'school_closed', 'The school is already closed.');
      return school;
    },
  });
}
