import type { Knex } from 'knex';
import { defineAction } from 'koa-gatehouse';
import type { Action } from 'koa-gatehouse';
import { z } from 'zod';

import { listSchools as readSchools } from '../schools.ts';
import { SCHOOL } from './school.ts';

const LIMIT = 100;

/** For agents, which run actions only; apps read `GET /api/v1/schools`, which has pages. */
export function listSchools(knex: Knex): Action<'view_schools'> {
  return defineAction({
    type: 'school',
    name: 'list-schools-action',
    level: 'collection',
    title: 'List schools',
    description: `The schools by name, with their ids: at most ${LIMIT}. Search for a part of a name or a city to find others.`,
    permission: 'view_schools',
    mcp: true,
    readOnly: true,
    input: z.object({
      search: z
        .string()
        .max(100)
        .regex(/^\P{Cc}*$/u)
        .optional()
        .describe('Part of a name or a city, in any case.'),
    }),
    output: z.object({ schools: z.array(SCHOOL) }),
    database: knex,
    async run({ input: { search }, database }) {
      const sort = { column: 'name', order: 'asc' } as const;
      const { data } = await readSchools(database, { search, sort, limit: LIMIT, after: undefined });
      return { schools: [...data] };
    },
  });
}
