import type { OpenDatabase } from '../../database/create-database.ts';
import type { SqlDatabase } from '../../database/port.ts';
import type { Assertions } from '../test-runner.ts';

/** A database under test, and what the storage makes of it. */
export interface DatabaseUnderTest {
  readonly source: SqlDatabase;
  readonly database: OpenDatabase;
}

/** Registers a test of a database in which there is an empty table for it. */
export type ConnectionTest = (
  title: string,
  run: (t: Assertions, under: DatabaseUnderTest) => Promise<void>,
) => void;

/** The table, which each test makes and drops. */
export const TABLE = 'gatehouse_contract';

export const INSERT = `insert into ${TABLE} (id, note, n) values (?, ?, ?)`;

/** The results of a number of calls at once. */
export async function atOnce<T>(calls: number, call: (index: number) => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: calls }, async (_, index) => call(index)));
}

export async function countRows(database: Pick<OpenDatabase, 'get'>): Promise<number> {
  const row = await database.get<{ count: unknown }>(`select count(*) as count from ${TABLE}`);
  return Number(row!.count);
}
