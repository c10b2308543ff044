import { createTable } from '../table.ts';
import type { Migration } from './migration.ts';

/** The registrations of clients that registered themselves. */
export const dynamicRegistration: Migration = {
  name: '0012_dynamic_registration',
  up: (dialect) =>
    createTable(dialect, {
      name: 'gatehouse_registrations',
      columns: {
        client_id: 'id',
        token_hash: 'id',
        auth_method: 'id',
        removable_at: 'integer',
        unused_after: 'integer',
        lock_count: 'integer',
      },
      key: ['client_id'],
      indexes: [['removable_at']],
    }),
};
