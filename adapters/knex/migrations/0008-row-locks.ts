import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * A counter of the transactions that have locked the row. A transaction that relies on the row changes it, because a Galera
 * cluster replicates changes and no locks: only two changes of a row are in conflict on different members.
 */
export const rowLocks: Migration = {
  name: '0008_row_locks',
  up: (dialect) =>
    ['gatehouse_consents', 'gatehouse_clients'].map((table) =>
      addColumn(dialect, table, { column: 'lock_count', type: 'integer' }),
    ),
};
