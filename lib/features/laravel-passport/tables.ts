import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Which tokens of Laravel Passport were used within a week. */
const USES: StoredTable = defineTable({
  name: 'gatehouse_passport_uses',
  columns: { id: 'id', client_id: 'id', kind: 'id', expires_at: 'integer' },
  indexes: [['expires_at']],
  expires: 'expires_at',
  user: undefined,
});

/** What this server knows of tokens of Passport, and Passport does not: see `claimId` and `disconnectionId`. */
const MARKS: StoredTable = defineTable({
  name: 'gatehouse_passport_marks',
  columns: { id: 'id', expires_at: 'integer' },
  indexes: [['expires_at']],
  expires: 'expires_at',
  user: undefined,
});

export const PASSPORT_TABLES: readonly StoredTable[] = [USES, MARKS];
