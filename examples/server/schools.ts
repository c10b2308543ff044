import type { Knex } from 'knex';

/** A school, as the API shows it. */
export interface School {
  readonly id: string;
  readonly name: string;
  readonly city: string;
  /** Whether it takes new pupils this year. */
  readonly open: boolean;
}

/** All schools, by name. */
export async function listSchools(database: Knex): Promise<readonly School[]> {
  const rows = await database('schools').select('id', 'name', 'city', 'open').orderBy('name');
  // SQLite keeps booleans as 0 and 1.
  return rows.map((row) => ({ id: row.id, name: row.name, city: row.city, open: Boolean(row.open) }));
}

/** Adds the schools that are missing. */
export async function addSchools(database: Knex, schools: readonly School[]): Promise<void> {
  await database('schools')
    .insert([...schools])
    .onConflict('id')
    .ignore();
}
