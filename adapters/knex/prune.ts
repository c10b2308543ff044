import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Seconds } from '../../lib/contracts/duration.ts';
import { correctTime } from './clock.ts';
import type { Database } from './database.ts';

// SQLite blocks the thread while it removes a batch, and a server locks its rows.
const BATCH = 200;

// A spent credential is kept until it expires, so that its reuse is detected. A grant, and with it the time of its revocation,
// is kept until all of its credentials have expired.
export const EXPIRING: readonly { table: string; key: readonly string[]; column: string }[] = [
  { table: 'gatehouse_sessions', key: ['id'], column: 'expires_at' },
  // Rows of nodes that still run the version before migration 0005.
  { table: 'gatehouse_interactions', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_credentials', key: ['id', 'kind'], column: 'expires_at' },
  { table: 'gatehouse_grants', key: ['id'], column: 'needed_until' },
  { table: 'gatehouse_revocations', key: ['kind', 'value'], column: 'expires_at' },
  { table: 'gatehouse_idempotency', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_audit', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_attempts', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_assertions', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_device_codes', key: ['id'], column: 'kept_until' },
  { table: 'gatehouse_logouts', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_personal_tokens', key: ['user_id', 'place'], column: 'expires_at' },
  { table: 'gatehouse_passport_uses', key: ['id'], column: 'expires_at' },
];

// Few, so that they have no index of their own; the uses are named so that the one of the generations finds them.
const RETIRED_KEYS = {
  table: 'gatehouse_keys',
  key: ['id'],
  condition: "purpose in ('token', 'id_token', 'cookie') and retires_at < ?",
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
 * Each call goes on where the one before has stopped, and one that has come to the end is followed by one from the start. For as
 * long as a transaction keeps an old snapshot, such as that of a backup, PostgreSQL, MariaDB and MySQL keep the index entries of
 * removed rows, and each batch from the start would read those of all batches before.
 *
 * The database's clock decides what has expired where this node's drifts: what other nodes have issued is valid by it.
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
    const retired = { ...RETIRED_KEYS, values: [at] };
    return removed + (await database.dialect.deleteSome(database, retired, Math.min(BATCH, limit - removed)));
  }

  return async (given, limit) => {
    const at = await correctTime(database, given);
    const isWhole = position === START;
    const removed = await goOn(at, limit);
    // That nothing is left is known only after a look at all tables.
    return removed > 0 || isWhole ? removed : goOn(at, limit);
  };
}
