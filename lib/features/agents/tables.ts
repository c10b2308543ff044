import { defineTable } from '../../database/table.ts';
import type { StoredTable } from '../../database/table.ts';

/** The registrations of clients that registered themselves. That of no client counts them. */
export const REGISTRATION_TABLE: StoredTable = defineTable({
  name: 'gatehouse_registrations',
  columns: {
    client_id: 'id',
    token_hash: 'id',
    auth_method: 'id',
    removable_at: 'integer',
    unused_after: 'integer',
    // What decides which one gives way when all places are taken: the network that it was made from, and who has consented, which is
    // nobody (null), one user alone, or several (an empty text).
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
