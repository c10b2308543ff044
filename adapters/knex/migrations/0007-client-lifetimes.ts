import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/**
 * How long what a client gets lives. Clients that were registered before have the server's lifetimes.
 *
 * The event of a secret that is deleted has had another name before.
 */
export const clientLifetimes: Migration = {
  name: '0007_client_lifetimes',
  up: (dialect) => [
    ...addColumn(dialect, 'gatehouse_clients', { column: 'lifetimes', type: 'text' }),
    `update gatehouse_audit set type = 'secret_deleted' where type = 'secret_removed'`,
  ],
};
