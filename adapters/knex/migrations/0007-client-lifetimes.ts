import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * Lifetimes of tokens per client. Clients that were registered before have the server's lifetimes.
 *
 * The audit event of a deleted secret is renamed as well.
 */
export const clientLifetimes: Migration = {
  name: '0007_client_lifetimes',
  up: (dialect) => [
    addColumn(dialect, 'gatehouse_clients', { column: 'lifetimes', type: 'text' }),
    `update gatehouse_audit set type = 'secret_deleted' where type = 'secret_removed'`,
  ],
};
