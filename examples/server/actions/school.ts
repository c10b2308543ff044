import type { Knex } from 'knex';
import { ActionError } from 'koa-gatehouse';
import { z } from 'zod';

import { toSchool } from '../schools.ts';
import type { School } from '../schools.ts';

// As many characters as the column has. No control characters, and no spaces around it.
const ONE_LINE = /^[^\s\p{Cc}](?:[^\p{Cc}]{0,198}[^\s\p{Cc}])?$/u;

function oneLine(description: string): z.ZodString {
  return z.string().regex(ONE_LINE, 'Give 1 to 200 characters on one line.').describe(description);
}

export const NAME: z.ZodString = oneLine('What people call it.');
export const CITY: z.ZodString = oneLine('Where it is.');

/** A school as the API shows it. */
export const SCHOOL: z.ZodType<School> = z.object({
  id: z.string(),
  name: z.string(),
  city: z.string(),
  open: z.boolean().describe('Whether it takes new pupils this year.'),
});

/** @throws ActionError `school_not_found` */
export async function findSchool(database: Knex, id: string): Promise<School> {
  const row = await database('schools').where({ id }).first();
  if (!row) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
  return toSchool(row);
}
