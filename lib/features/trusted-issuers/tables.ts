import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** What issuers have allowed clients for users. A row lasts as a consent does, so that its end by its user is not forgotten. */
export const ALLOWED_GRANT_TABLE: StoredTable = defineTable({
  name: 'gatehouse_allowed_grants',
  since: '0003_allowed_grants',
  columns: {
    id: 'id',
    issuer: 'text',
    user_id: 'id',
    client_id: 'id',
    grant_id: 'id',
    access: 'text',
    created_at: 'integer',
  },
  indexes: [['user_id', 'client_id'], ['client_id']],
  expires: undefined,
  user: 'user_id',
  client: 'client_id',
});

/** Assertions that were used, each until it has expired. */
export const USED_ASSERTION_TABLE: StoredTable = defineTable({
  name: 'gatehouse_used_assertions',
  since: '0004_used_assertions',
  columns: {
    id: 'id',
    digest: 'id',
    grant_id: 'id?',
    sequence: 'integer',
    used_at: 'integer',
    expires_at: 'integer',
  },
  indexes: [['expires_at']],
  expires: 'expires_at',
  user: undefined,
});

export const TRUSTED_ISSUER_TABLES: readonly StoredTable[] = [ALLOWED_GRANT_TABLE, USED_ASSERTION_TABLE];
