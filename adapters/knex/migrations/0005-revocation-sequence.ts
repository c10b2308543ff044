import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * Users and clients are ended by a number instead of a time, in the rows of `gatehouse_revocations`; what begins notes it. A
 * client that was revoked by time before is ended with all that it has.
 *
 * `gatehouse_interactions` is used no more and stays, for nodes of the version before that run beside this one.
 */
export const revocationSequence: Migration = {
  name: '0005_revocation_sequence',
  up: (dialect) => [
    ...['gatehouse_revocations', 'gatehouse_grants', 'gatehouse_sessions'].flatMap((table) =>
      addColumn(dialect, table, { column: 'sequence', type: 'integer' }),
    ),
    // Of those that end at once, each waits for this row: no number is given twice, or before a smaller one can be seen.
    `insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
     values ('sequence', '', 0, ${Number.MAX_SAFE_INTEGER}, 1)
     ${dialect.onConflict({ table: 'gatehouse_revocations', key: ['kind', 'value'] })}`,
    `update gatehouse_revocations set sequence = 1, expires_at = ${Number.MAX_SAFE_INTEGER}
     where kind = 'client' and sequence is null`,
  ],
};
