import { DELIVERY_COLUMNS } from '../../outbox/delivery-columns.ts';
import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** Clients that have to be told that users were signed out. */
export const LOGOUT_TABLE: StoredTable = defineTable({
  name: 'gatehouse_logouts',
  columns: {
    ...DELIVERY_COLUMNS,
    client_id: 'id',
    user_id: 'id',
    session_uid: 'id',
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
