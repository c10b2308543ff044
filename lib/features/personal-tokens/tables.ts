import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Personal access tokens of users. */
export const PERSONAL_TOKEN_TABLE: StoredTable = defineTable({
  name: 'gatehouse_personal_tokens',
  columns: {
    user_id: 'id',
    // One of the places for the tokens that a user may have.
    place: 'integer',
    id: 'id',
    hash: 'id',
    name: 'id',
    resource: 'id?',
    scopes: 'text?',
    permissions: 'text?',
    created_at: 'integer',
    expires_at: 'integer',
    sequence: 'integer',
    last_used_at: 'integer?',
    last_used_from: 'id?',
    // The networks from which the token was used.
    networks: 'text?',
  },
  key: ['user_id', 'place'],
  unique: [['id'], ['hash']],
  indexes: [['expires_at']],
  expires: 'expires_at',
  user: 'user_id',
});

export const PERSONAL_TOKEN_TABLES: readonly StoredTable[] = [PERSONAL_TOKEN_TABLE];
