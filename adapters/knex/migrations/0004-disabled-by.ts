import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/** Who disabled a client. Of those that were disabled before, nobody knows: an administrator enables them. */
export const disabledBy: Migration = {
  name: '0004_disabled_by',
  up: (dialect) => addColumn(dialect, 'gatehouse_clients', { column: 'disabled_by', type: 'id' }),
};
