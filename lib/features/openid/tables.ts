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
    // The index has all columns of the question that each end asks: whether the client was told of the sign-in already.
    ['user_id', 'client_id', 'session_uid', 'created_at'],
    ['expires_at'],
  ],
  expires: 'expires_at',
  user: 'user_id',
  // A delivery that is still due stays, so that its client is told.
  whenErased: 'due_at is null',
  renamed: 'owner_id',
});

export const OPENID_TABLES: readonly StoredTable[] = [LOGOUT_TABLE];
