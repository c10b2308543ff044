import { createIndex, createTable, dropIndex } from '../table.ts';
import type { Migration } from './migration.ts';

/** Lists of clients are read, and names are searched, in the order of an index. `migrate()` fills the table of the names. */
export const clientNames: Migration = {
  name: '0016_client_names',
  up: (dialect) => [
    createIndex(dialect, 'gatehouse_clients', ['sort_name', 'id']),
    createIndex(dialect, 'gatehouse_clients', ['owner_id', 'sort_name', 'id']),
    // An order of equal names is in the new ones only, and the databases do not always choose those.
    dropIndex(dialect, 'gatehouse_clients', ['sort_name']),
    dropIndex(dialect, 'gatehouse_clients', ['owner_id']),
    ...createTable(dialect, {
      name: 'gatehouse_client_names',
      columns: {
        client_id: 'id',
        // The name from one of its words on, in lower case.
        beginning: 'id',
        owner_id: 'id',
      },
      optional: ['owner_id'],
      key: ['client_id', 'beginning'],
      indexes: [
        ['beginning', 'client_id'],
        ['owner_id', 'beginning', 'client_id'],
      ],
    }),
  ],
};
