import type { Knex } from 'knex';

import { cursorAfter } from './school-query.ts';
import type { SchoolQuery } from './school-query.ts';

/** A school, as the API shows it. */
export interface School {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  /** Whether it takes new pupils this year. */
  readonly open: boolean;
}

/** A page of schools. */
export interface SchoolPage {
  readonly data: readonly School[];
  /** The cursor of the next page; `null` on the last one. */
  readonly next: string | null;
}

/** Reads one page of schools. */
export async function listSchools(database: Knex, query: SchoolQuery): Promise<SchoolPage> {
  const { search, sort, limit, after } = query;
  const { column, order } = sort;
  const select = database('schools')
    .select('id', 'name', 'city', 'open')
    .orderBy([
      { column, order },
      { column: 'id', order },
    ])
    .limit(limit + 1);
  if (search !== undefined) {
    const part = `%${search.replaceAll(/[!%_]/g, '!$&')}%`;
    void select.whereRaw("(lower(name) like lower(?) escape '!' or lower(city) like lower(?) escape '!')", [
      part,
      part,
    ]);
  }
  if (after) {
    const beyond = order === 'asc' ? '>' : '<';
    const tied = { [column]: after.value };
    void select.where((rest) => {
      void rest.where(column, beyond, after.value).orWhere((one) => {
        void one.where(tied).where('id', beyond, after.id);
      });
    });
  }
  // One more row is read to see whether there is another page.
  const schools = (await select).map(toSchool);
  const data = schools.slice(0, limit);
  return { data, next: schools.length > limit ? cursorAfter(query, data.at(-1)!) : null };
}

/** SQLite and MariaDB store booleans as 0 and 1. */
type SchoolRow = Omit<School, 'open'> & { readonly open: boolean | number };

export function toSchool({ id, name, city, open }: SchoolRow): School {
  return { id, name, city, open: Boolean(open) };
}

/** Adds the schools that are missing. */
export async function addSchools(database: Knex, schools: readonly School[]): Promise<void> {
  await database('schools')
    .insert([...schools])
    .onConflict('id')
    .ignore();
}
