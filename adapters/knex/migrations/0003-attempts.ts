import { createTable } from '../table.ts';
import type { Migration } from './migration.ts';

/** Counted attempts, such as logins with a wrong password. */
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
