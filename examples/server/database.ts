import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';

import knex from 'knex';
import type { Knex } from 'knex';

import { doOnce, prepareTasks } from './tasks.ts';
import { SettingsError } from './settings.ts';

/** Opens the database that a URL names: an SQLite file, or a server whose driver is installed. */
export async function openDatabase(url: string): Promise<Knex> {
  try {
    const database = knex({
      // Knex would print every failure, and its message would hold the values of the query: they are people's.
      log: { warn() {}, error() {}, deprecate() {}, debug() {} },
      compileSqlOnError: false,
      ...(await configure(url)),
    });
    await database.raw('select 1');
    return database;
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
    throw new SettingsError(`DATABASE_URL: the database cannot be opened: ${reason}`, { cause: error });
  }
}

async function configure(url: string): Promise<Knex.Config> {
  switch (url.slice(0, url.indexOf(':'))) {
    case 'sqlite':
      return configureFile(url.replace(/^sqlite:(\/\/)?/, ''));
    case 'postgres':
    case 'postgresql':
      return { client: 'pg', connection: url };
    case 'mysql':
    case 'mariadb':
      return { client: 'mysql2', connection: url.replace('mariadb:', 'mysql:') };
  }
  throw new SettingsError(
    'DATABASE_URL: give a sqlite:, postgres:, mysql: or mariadb: URL, such as sqlite:/var/lib/platform.sqlite.',
  );
}

async function configureFile(filename: string): Promise<Knex.Config> {
  await mkdir(dirname(filename), { recursive: true });
  return {
    client: 'better-sqlite3',
    connection: { filename },
    useNullAsDefault: true,
    pool: {
      min: 1,
      max: 1,
      afterCreate(connection: { pragma(source: string): unknown }, done: (error?: unknown) => void) {
        try {
          // Readers and a writer of other processes do not wait for each other; two writers wait instead of failing.
          connection.pragma('busy_timeout = 5000');
          connection.pragma('journal_mode = WAL');
          connection.pragma('synchronous = NORMAL');
          done();
        } catch (error) {
          done(error);
        }
      },
    },
  };
}

type Migration = (transaction: Knex.Transaction) => Promise<void>;

const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '001_school_platform': async (transaction) => {
    await transaction.schema.createTable('users', (table) => {
      table.string('id', 36).primary();
      table.string('login', 254).notNullable().unique();
      table.string('name', 200).notNullable();
      table.string('password_hash', 200).notNullable();
    });
    await transaction.schema.createTable('user_roles', (table) => {
      table.string('user_id', 36).notNullable();
      table.string('role', 60).notNullable();
      table.primary(['user_id', 'role']);
    });
    await transaction.schema.createTable('user_permissions', (table) => {
      table.string('user_id', 36).notNullable();
      table.string('permission', 60).notNullable();
      table.primary(['user_id', 'permission']);
    });
    await transaction.schema.createTable('schools', (table) => {
      table.string('id', 60).primary();
      table.string('name', 200).notNullable();
      table.string('city', 200).notNullable();
      table.boolean('open').notNullable();
    });
    await transaction.schema.createTable('seeded_apps', (table) => {
      table.string('app', 60).primary();
      table.string('client_id', 36).notNullable();
    });
  },
  '002_schools_in_order': async (transaction) => {
    await transaction.schema.alterTable('schools', (table) => {
      // Each in the order of a page, so that a page is read and nothing else.
      table.index(['name', 'id']);
      table.index(['city', 'id']);
    });
  },
};

/**
 * Brings the platform's own tables up to date. They live beside Gatehouse's, which `storage.migrate()` looks after.
 *
 * Several nodes may do this at once: each migration runs once.
 */
export async function migrateDatabase(database: Knex): Promise<void> {
  await prepareTasks(database);
  for (const [name, migrate] of Object.entries(MIGRATIONS)) {
    await doOnce(database, `migration ${name}`, () => database.transaction(migrate));
  }
}
