import { createTable } from '../table.ts';
import type { Migration } from './migration.ts';

/** Device authorization requests (RFC 8628). The approved ones have a credential of the kind `device_code` too. */
export const deviceCodes: Migration = {
  name: '0013_device_codes',
  up: (dialect) =>
    createTable(dialect, {
      name: 'gatehouse_device_codes',
      columns: {
        id: 'id',
        user_code: 'id',
        client_id: 'id',
        payload: 'text',
        created_at: 'integer',
        expires_at: 'integer',
        kept_until: 'integer',
        sequence: 'integer',
        answer: 'id',
        polled_at: 'integer',
      },
      optional: ['answer', 'polled_at'],
      key: ['id'],
      unique: [['user_code']],
      indexes: [['kept_until']],
    }),
};
