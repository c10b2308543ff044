import { createTable } from '../table.ts';
import type { Migration } from './migration.ts';

/** How often something was tried that can be guessed. */
export const attempts: Migration = {
  name: '0003_attempts',
  up: (dialect) =>
    createTable(dialect, {
      name: 'gatehouse_attempts',
      columns: { id: 'id', attempts: 'integer', expires_at: 'integer' },
      key: ['id'],
      indexes: [['expires_at']],
    }),
};
