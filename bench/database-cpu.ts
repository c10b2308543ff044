import { readFileSync } from 'node:fs';

import type { Knex } from 'knex';

import { childrenOf, TICK, timesOf } from './server/child-processes.ts';

/** Reads the CPU time of a database server on this machine so far, in microseconds, from Linux's /proc. */
export type DatabaseCpu = () => number;

/** Finds the processes of a server. SQLite has none: its time is that of the process that uses it. */
export async function findDatabaseCpu(client: 'pg' | 'mysql2', database: Knex): Promise<DatabaseCpu> {
  if (client === 'mysql2') {
    const [[row]] = (await database.raw('select @@pid_file as file')) as [[{ file: string }]];
    const id = Number(readFileSync(row.file, 'utf8'));
    return () => timesOf(id).itself * TICK;
  }
  const { rows } = (await database.raw('select pg_backend_pid() as id')) as { rows: [{ id: number }] };
  const { parent } = timesOf(rows[0].id);
  return () => {
    // A process that ends meanwhile counts as one of the ended ones the next time.
    const { itself, ended } = timesOf(parent);
    return childrenOf(parent).reduce((sum, id) => sum + timesOf(id).itself, itself + ended) * TICK;
  };
}
