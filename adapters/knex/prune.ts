import { setImmediate as nextTurn } from 'node:timers/promises';

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
];

/** Removes up to `limit` expired rows, in batches, with other work of this process in between. */
export async function prune(database: Database, at: number, limit: number): Promise<number> {
  let removed = 0;
  for (const { table, key, column } of EXPIRING) {
    const expired = { table, key, condition: `${column} < ?`, order: column, values: [at] };
    for (;;) {
      const batch = Math.min(BATCH, limit - removed);
      if (batch <= 0) return removed;
      const removedNow = await database.dialect.deleteSome(database, expired, batch);
      removed += removedNow;
      if (removedNow < batch) break;
      await nextTurn();
    }
  }
  return removed;
}
