import type { Knex } from 'knex';

import { createDatabase } from '../../lib/database/create-database.ts';
import { migrate } from '../../lib/database/migrate.ts';
import { MIGRATIONS } from '../../lib/database/migrations.ts';
import { knexDatabase } from '../../adapters/knex/knex-database.ts';
import { addColumns, createIndex, createTable, dropIndex } from '../../lib/database/create-table.ts';
import type { Migration } from '../../lib/database/create-table.ts';

/** A migration of a release that there may be, with each kind of change that one can make. */
export const SECOND: Migration = {
  name: '0002_nicknames',
  up: (dialect) => [
    ...createTable(dialect, { name: 'gatehouse_nicknames', columns: { id: 'id' }, indexes: [['id']] }),
    ...addColumns(dialect, 'gatehouse_clients', { nickname: 'text' }),
    // In this order, so that there is always one.
    createIndex(dialect, 'gatehouse_sessions', ['uid', 'user_id']),
    dropIndex(dialect, 'gatehouse_sessions', ['uid']),
    `update gatehouse_clients set nickname = ${dialect.name === 'mysql' ? "concat('known as ', name)" : "'known as ' || name"}`,
  ],
};

/** Migrates the database of a host as the version with that migration does. */
export async function migrateWith(host: Knex): Promise<void> {
  await migrate(createDatabase(knexDatabase(host, { shared: true }), 5000), [...MIGRATIONS, SECOND]);
}
