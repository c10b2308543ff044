import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Seconds } from '../contracts/duration.ts';
import { correctTime } from './clock.ts';
import type { Database } from './database.ts';
import { TABLES } from './tables.ts';

// SQLite blocks the thread while it removes a batch, and a server locks its rows.
const BATCH = 200;

/** The tables whose rows expire, with the column of the expiry. */
export const EXPIRING: readonly { table: string; key: readonly string[]; column: string }[] = TABLES.flatMap(
  ({ name, key = ['id'], expires }) => (expires === undefined ? [] : [{ table: name, key, column: expires }]),
);

// They are few, so they have no index of their own. The condition names the uses so that the index of the generations finds them.
const RETIRED_KEYS = {
  table: 'gatehouse_keys',
  key: ['id'],
  condition: "purpose in ('token', 'id_token', 'cookie') and retires_at < ?",
};

// The ends of a reader that has not said for days that it reads. Any other reader may take its ends at any time.
const UNREAD_ENDS = {
  table: 'gatehouse_ends',
  key: ['id'],
  condition: 'reader not in (select r.name from gatehouse_end_readers r where r.until >= ?)',
};

/** Where a run goes on: the index of a table in {@link EXPIRING}, and the expiry of the last row that was removed from it. */
interface PrunePosition {
  readonly index: number;
  readonly from: Seconds;
}

const START: PrunePosition = { index: 0, from: Number.MIN_SAFE_INTEGER };

/**
 * Returns the `prune` of a storage: removes up to `limit` expired rows, in batches, with other work of this process in between.
 *
 * Each call goes on where the call before it has stopped; after a call that has come to the end, the next one begins at the start. For as
 * long as a transaction keeps an old snapshot, such as that of a backup, PostgreSQL, MariaDB and MySQL keep the index entries of removed
 * rows, and each batch from the start would read those of all batches before.
 *
 * Where this node's clock drifts, the database's clock decides what has expired, because it decides how long the credentials of other
 * nodes are valid.
 */
export function createPrune(database: Database): (at: Seconds, limit: number) => Promise<number> {
  let position = START;

  /** Removes rows from the position on. */
  async function goOn(at: Seconds, limit: number): Promise<number> {
    let removed = 0;
    for (let rows = EXPIRING[position.index]; rows; rows = EXPIRING[position.index]) {
      const { index, from } = position;
      const batch = Math.min(BATCH, limit - removed);
      if (batch <= 0) return removed;
      const expired = { ...rows, from, before: at };
      const expiries = await database.dialect.deleteExpired(database, expired, batch);
      removed += expiries.length;
      const isDone = expiries.length < batch;
      position = isDone ? { ...START, index: index + 1 } : { index, from: Math.max(...expiries) };
      if (!isDone) await nextTurn();
    }
    position = START;
    if (removed >= limit) return removed;
    for (const rows of [RETIRED_KEYS, UNREAD_ENDS])
      if (removed < limit)
        removed += await database.dialect.deleteSome(
          database,
          { ...rows, values: [at] },
          Math.min(BATCH, limit - removed),
        );
    return removed;
  }

  return async (given, limit) => {
    const at = await correctTime(database, given);
    const isWhole = position === START;
    const removed = await goOn(at, limit);
    // Only a look at all tables shows that nothing is left.
    return removed > 0 || isWhole ? removed : goOn(at, limit);
  };
}
