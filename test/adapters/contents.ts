import type { TestDatabase } from './databases.ts';
import { connectHost } from './host-knex.ts';

export type Row = Readonly<Record<string, unknown>>;

const TABLES: Readonly<Record<TestDatabase['client'], string>> = {
  'better-sqlite3': "select name from sqlite_master where type = 'table'",
  pg: "select table_name as name from information_schema.tables where table_schema = 'public'",
  mysql2: 'select table_name as name from information_schema.tables where table_schema = database()',
};

/** The rows of every table of a database, by the name of the table. */
export async function contentsOf({ client }: TestDatabase, address: string): Promise<Map<string, Row[]>> {
  const database = connectHost(client, address);
  try {
    const tables: { name: string }[] = await database
      .select('name')
      .from(database.raw(`(${TABLES[client]}) tables`));
    return new Map(
      await Promise.all(
        tables.map(async ({ name }): Promise<[string, Row[]]> => [name, await database(name)]),
      ),
    );
  } finally {
    await database.destroy();
  }
}
