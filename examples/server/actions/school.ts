import type { Knex } from 'knex';
import { ActionError } from 'koa-gatehouse';
import { z } from 'zod';

import { toSchool } from '../schools.ts';
import type { School } from '../schools.ts';

// The length of the column, without control characters and surrounding spaces.
const ONE_LINE = /^[^\s\p{Cc}](?:[^\p{Cc}]{0,198}[^\s\p{Cc}])?$/u;

function oneLine(description: string): z.ZodString {
  return z.string().regex(ONE_LINE, 'Give 1 to 200 characters on one line.').describe(description);
}

export const NAME: z.ZodString = oneLine('The name of the school.');
export const CITY: z.ZodString = oneLine('The city of the school.');

/** A school as the API shows it. */
export const SCHOOL: z.ZodType<School> = z.object({
  id: z.string(),
  name: z.string(),
  city: z.string(),
  open: z.boolean().describe('Whether it takes new pupils this year.'),
});

/** @throws ActionError `school_not_found` */
export async function findSchool(database: Knex, id: string): Promise<School> {
  // PostgreSQL refuses a NUL character in text.
  const row = id.includes('\0') ? undefined : await database('schools').where({ id }).first();
  if (!row) throw new ActionError(404, 'school_not_found', 'There is no school with this id.');
  return toSchool(row);
}
