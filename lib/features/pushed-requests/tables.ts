import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Pushed authorization requests (RFC 9126) that have not led to a code. Nobody is known to be the user of one. */
export const PUSHED_REQUEST_TABLE: StoredTable = defineTable({
  name: 'gatehouse_pushed_requests',
  since: '0002_pushed_requests',
  columns: { id: 'id', parameters: 'text', expires_at: 'integer', kept_until: 'integer' },
  indexes: [['kept_until']],
  expires: 'kept_until',
  user: undefined,
});

export const PUSHED_REQUEST_TABLES: readonly StoredTable[] = [PUSHED_REQUEST_TABLE];
