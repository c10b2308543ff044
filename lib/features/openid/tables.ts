import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Clients that have to be told that users were signed out. */
export const LOGOUT_TABLE: StoredTable = defineTable({
  name: 'gatehouse_logouts',
  columns: {
    id: 'id',
    client_id: 'id',
    user_id: 'id',
    session_uid: 'id',
    created_at: 'integer',
    // Who answers for the client. Null: the platform.
    owner_id: 'id?',
    // Null when the client was told, or is not told any more.
    due_at: 'integer?',
    attempts: 'integer',
    attempt: 'id?',
    answered_at: 'integer?',
    error: 'id?',
    expires_at: 'integer',
  },
  indexes: [
    ['due_at'],
    ['client_id', 'due_at'],
    ['client_id', 'created_at'],
    // All that is asked for each end that is read: whether the client was told of the sign-in already.
    ['user_id', 'client_id', 'session_uid', 'created_at'],
    ['expires_at'],
  ],
  expires: 'expires_at',
  user: 'user_id',
  // A client that is not told yet still is.
  whenErased: 'due_at is null',
  renamed: 'owner_id',
});

export const OPENID_TABLES: readonly StoredTable[] = [LOGOUT_TABLE];
