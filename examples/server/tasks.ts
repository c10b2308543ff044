import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';

/** In milliseconds: after this time a node that has not finished its task counts as crashed. */
const TIMEOUT = 20_000;

/** Creates the table of tasks if it does not exist. */
export async function prepareTasks(database: Knex): Promise<void> {
  try {
    await database.raw(
      'create table if not exists tasks (task varchar(60) primary key, node varchar(36) not null, began_at bigint not null, ended_at bigint)',
    );
  } catch (error) {
    // If two nodes do this at the same time, one of them fails on PostgreSQL, although the table exists.
    if (!(await database.schema.hasTable('tasks'))) throw error;
  }
}

/**
 * Runs a task once per database, also if several nodes start at the same time or crash.
 *
 * A unique row decides which node runs it; the others wait until it is done. Resolves to the task's result on the node that
 * ran it, and to `undefined` on the others and on later starts.
 */
export async function doOnce<T>(database: Knex, task: string, run: () => Promise<T>): Promise<T | undefined> {
  const node = crypto.randomUUID();
  for (;;) {
    await database('tasks').insert({ task, node, began_at: Date.now() }).onConflict('task').ignore();
    const row = await database('tasks').where({ task }).first();
    if (row?.node === node) return runAndRecord(database, { task, node }, run);
    if (row?.ended_at) return undefined;
    if (row && Number(row.began_at) + TIMEOUT < Date.now()) {
      await database('tasks').where({ task, node: row.node, ended_at: null }).delete();
    }
    await delay(50);
  }
}

async function runAndRecord<T>(
  database: Knex,
  begun: { task: string; node: string },
  run: () => Promise<T>,
): Promise<T> {
  try {
    const result = await run();
    await database('tasks').where(begun).update({ ended_at: Date.now() });
    return result;
  } catch (error) {
    await database('tasks').where(begun).delete();
    throw error;
  }
}
