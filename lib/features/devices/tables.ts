import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Device authorization requests (RFC 8628). An approved request also has a credential of the kind `device_code`. */
export const DEVICE_CODE_TABLE: StoredTable = defineTable({
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
    answer: 'id?',
    polled_at: 'integer?',
  },
  unique: [['user_code']],
  indexes: [['kept_until']],
  expires: 'kept_until',
  user: undefined,
});

export const DEVICE_TABLES: readonly StoredTable[] = [DEVICE_CODE_TABLE];
