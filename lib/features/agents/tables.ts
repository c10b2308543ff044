import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** The registrations of clients that registered themselves. The row with an empty `client_id` is the lock for counting them. */
export const REGISTRATION_TABLE: StoredTable = defineTable({
  name: 'gatehouse_registrations',
  columns: {
    client_id: 'id',
    token_hash: 'id',
    auth_method: 'id',
    removable_at: 'integer',
    unused_after: 'integer',
    // These columns decide which client is deleted when all places are taken: the network from which it was registered, and who has
    // consented: nobody (null), one user alone, or several users (an empty text).
    network: 'id',
    user_id: 'id?',
    lock_count: 'counter',
  },
  key: ['client_id'],
  indexes: [['removable_at']],
  expires: undefined,
  user: undefined,
  emptied: 'user_id',
  client: 'client_id',
});

export const AGENT_TABLES: readonly StoredTable[] = [REGISTRATION_TABLE];
