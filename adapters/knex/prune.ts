import { setImmediate as nextTurn } from 'node:timers/promises';

import { now } from '../../lib/contracts/clock.ts';
import type { StorageDiagnosis } from '../../lib/contracts/index.ts';
import type { Database } from './database.ts';
import { toOptionalNumber } from './stores/column-values.ts';
import type { Integer } from './stores/column-values.ts';

// SQLite blocks the thread while it removes a batch, and a server locks its rows.
const BATCH = 200;

// A spent credential is kept until it expires, so that a second use of it is noticed. A grant is kept until all that came
// from it has expired, and so is the record of its revocation.
const EXPIRING: readonly { table: string; key: readonly string[]; column: string }[] = [
  { table: 'gatehouse_sessions', key: ['id'], column: 'expires_at' },
  // Of nodes of the version before, which may serve still.
  { table: 'gatehouse_interactions', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_credentials', key: ['id', 'kind'], column: 'expires_at' },
  { table: 'gatehouse_grants', key: ['id'], column: 'needed_until' },
  { table: 'gatehouse_revocations', key: ['kind', 'value'], column: 'expires_at' },
  { table: 'gatehouse_idempotency', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_audit', key: ['id'], column: 'expires_at' },
  { table: 'gatehouse_attempts', key: ['id'], column: 'expires_at' },
];

/** Removes up to `limit` expired rows, in batches, and lets other work go on between them. */
export async function prune(database: Database, at: number, limit: number): Promise<number> {
  let removed = 0;
  for (const { table, key, column } of EXPIRING) {
    const sql = database.dialect.deleteSome(table, key, `${column} < ? order by ${column}`);
    for (;;) {
      const batch = Math.min(BATCH, limit - removed);
      if (batch <= 0) return removed;
      const removedNow = await database.run(sql, [at, batch]);
      removed += removedNow;
      if (removedNow < batch) break;
      await nextTurn();
    }
  }
  return removed;
}

/** Looks at the database's clock, and at the end of each index of rows that expire. */
export async function diagnose(database: Database): Promise<StorageDiagnosis> {
  const row = await database.get<{ clock: Integer | null; oldest: Integer | null }>(
    `select ${database.dialect.clock} as clock, min(expiry) as oldest from (${OLDEST}) of_tables`,
  );
  const oldest = toOptionalNumber(row?.oldest ?? null);
  const isExpired = oldest !== undefined && oldest < now();
  return { clock: toOptionalNumber(row?.clock ?? null), oldestExpired: isExpired ? oldest : undefined };
}

const OLDEST = EXPIRING.map(({ table, column }) => `select min(${column}) as expiry from ${table}`).join(
  ' union all ',
);
