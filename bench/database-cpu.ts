import { globSync, readFileSync } from 'node:fs';

import type { Knex } from 'knex';

/** Reads the CPU time of a database server on this machine so far, in microseconds, from Linux's /proc. */
export type DatabaseCpu = () => number;

/** Finds the processes of a server. SQLite has none: its time is that of the process that uses it. */
export async function findDatabaseCpu(client: 'pg' | 'mysql2', database: Knex): Promise<DatabaseCpu> {
  if (client === 'mysql2') {
    const [[row]] = (await database.raw('select @@pid_file as file')) as [[{ file: string }]];
    const id = Number(readFileSync(row.file, 'utf8'));
    return () => timesOf(id).own;
  }
  const { rows } = (await database.raw('select pg_backend_pid() as id')) as { rows: [{ id: number }] };
  const { parent } = timesOf(rows[0].id);
  return () => {
    const { own, ended } = timesOf(parent);
    return own + ended + childrenOf(parent).reduce((sum, id) => sum + timesOf(id).own, 0);
  };
}

/** `ended`: the time of the child processes that have ended. */
function timesOf(id: number): { parent: number; own: number; ended: number } {
  const stat = readFileSync(`/proc/${id}/stat`, 'utf8');
  // The fields behind the name, which may contain spaces (proc(5)); times are in ticks of 10 ms.
  const fields = stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
  const ticks = (index: number): number => (fields[index] ?? 0) * 10_000;
  return { parent: fields[1]!, own: ticks(11) + ticks(12), ended: ticks(13) + ticks(14) };
}

function childrenOf(parent: number): number[] {
  return globSync(`/proc/${parent}/task/*/children`).flatMap((file) =>
    readFileSync(file, 'utf8').split(' ').filter(Boolean).map(Number),
  );
}
