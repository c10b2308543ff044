import type { Knex } from 'knex';

import { createDatabase } from '../../adapters/knex/database.ts';
import { migrate } from '../../adapters/knex/migrate.ts';
import { MIGRATIONS } from '../../adapters/knex/migrations.ts';
import { openDatabase } from '../../adapters/knex/open-database.ts';
import { addColumns, createIndex, createTable, dropIndex } from '../../adapters/knex/table.ts';
import type { Migration } from '../../adapters/knex/table.ts';

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
  const source = openDatabase(host, 5000, true);
  await migrate(createDatabase(source.pool, source.dialect, 5000, source), [...MIGRATIONS, SECOND]);
}
