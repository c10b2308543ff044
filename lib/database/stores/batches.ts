import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Database } from '../database.ts';
import type { RemovableRows } from '../dialect.ts';

/** The number of rows of a batch: SQLite blocks the thread while it changes them, and a server locks them. */
export const BATCH = 200;

/** Deletes rows in batches, because there can be any number and other requests wait for a batch. Resolves to their number. */
export async function deleteInBatches(database: Database, rows: RemovableRows): Promise<number> {
  let deleted = 0;
  for (;;) {
    const batch = await database.dialect.deleteSome(database, rows, BATCH);
    if (batch === 0) return deleted;
    deleted += batch;
    await nextTurn();
  }
}
