import { addColumn } from '../table.ts';
import type { Migration } from './migration.ts';

/** How a client became known, and its public keys. Clients that were registered before were registered by a person. */
export const clientRegistration: Migration = {
  name: '0009_client_registration',
  up: (dialect) => [
    addColumn(dialect, 'gatehouse_clients', { column: 'registration', type: 'id' }),
    addColumn(dialect, 'gatehouse_clients', { column: 'public_keys', type: 'text' }),
  ],
};
