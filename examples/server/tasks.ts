import { setTimeout as delay } from 'node:timers/promises';

import type { Knex } from 'knex';

/** A node that began a task and did not finish it for this long is taken for dead. */
const PATIENCE = 20_000;

/** Creates the table of tasks, unless it is there. */
export async function prepareTasks(database: Knex): Promise<void> {
  try {
    await database.raw(
      'create table if not exists tasks (task varchar(60) primary key, node varchar(36) not null, began_at bigint not null, ended_at bigint)',
    );
  } catch (error) {
    // When two nodes do this at once, PostgreSQL lets one of them fail, although the table is there then.
    if (!(await database.schema.hasTable('tasks'))) throw error;
  }
}

/**
 * Does a task once for a database, however many nodes start at the same time and whichever of them crash on the way.
 *
 * A unique row decides who does it; the others wait until it is done. Resolves to the task's result on the node that
 * did it, and to `undefined` everywhere else and ever after.
 */
export async function doOnce<T>(database: Knex, task: string, run: () => Promise<T>): Promise<T | undefined> {
  const node = crypto.randomUUID();
  for (;;) {
    await database('tasks').insert({ task, node, began_at: Date.now() }).onConflict('task').ignore();
    const row = await database('tasks').where({ task }).first();
    if (row?.node === node) return runAndNote(database, { task, node }, run);
    if (row?.ended_at) return undefined;
    if (row && Number(row.began_at) + PATIENCE < Date.now()) {
      await database('tasks').where({ task, node: row.node, ended_at: null }).delete();
    }
    await delay(50);
  }
}

async function runAndNote<T>(
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
