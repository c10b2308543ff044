import { createIndex, dropIndex } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * Consents are found by the user and the client. PostgreSQL may use the index on the client for that, before it has analyzed the
 * table: with the user in it, it leads to the one row, not to all users of the client.
 */
export const consentIndex: Migration = {
  name: '0015_consent_index',
  up: (dialect) => [
    // In this order, so that there is always one.
    createIndex(dialect, 'gatehouse_consents', ['client_id', 'user_id']),
    dropIndex(dialect, 'gatehouse_consents', ['client_id']),
  ],
};
