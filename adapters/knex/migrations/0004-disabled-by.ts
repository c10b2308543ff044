import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/** The user who disabled a client. It is unknown for clients disabled before, so only an administrator can enable those. */
export const disabledBy: Migration = {
  name: '0004_disabled_by',
  up: (dialect) => [addColumn(dialect, 'gatehouse_clients', { column: 'disabled_by', type: 'id' })],
};
