import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * The tokens, grants and sessions of a user or a client end by a sequence number instead of a time, in the rows of
 * `gatehouse_revocations`; grants and sessions store the number at their beginning. A client that had been revoked by time is
 * ended with all that was issued to it.
 *
 * `gatehouse_interactions` is not used any more; it stays for nodes of the previous version that run beside this one.
 */
export const revocationSequence: Migration = {
  name: '0005_revocation_sequence',
  up: (dialect) => [
    ...['gatehouse_revocations', 'gatehouse_grants', 'gatehouse_sessions'].map((table) =>
      addColumn(dialect, table, { column: 'sequence', type: 'integer' }),
    ),
    // Concurrent ends wait for the lock of this row: no number is used twice or becomes visible before a smaller one.
    `insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
     values ('sequence', '', 0, ${Number.MAX_SAFE_INTEGER}, 1)
     ${dialect.onConflict({ table: 'gatehouse_revocations', key: ['kind', 'value'] })}`,
    `update gatehouse_revocations set sequence = 1, expires_at = ${Number.MAX_SAFE_INTEGER}
     where kind = 'client' and sequence is null`,
  ],
};
