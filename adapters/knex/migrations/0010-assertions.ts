import { createTable } from '../table.ts';
import type { Migration } from './migration.ts';

/** Client assertions that were used (RFC 7523 section 3, `jti`). */
export const assertions: Migration = {
  name: '0010_assertions',
  up: (dialect) =>
    createTable(dialect, {
      name: 'gatehouse_assertions',
      columns: { id: 'id', expires_at: 'integer' },
      key: ['id'],
      indexes: [['expires_at']],
    }),
};
