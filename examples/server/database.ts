import { mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

import knex from 'knex';
import type { Knex } from 'knex';

import { driverCommand } from './program.ts';
import { doOnce, prepareTasks } from './tasks.ts';
import { SettingsError } from './settings.ts';

/** Opens a SQLite file or connects to a database server, by URL. */
export async function openDatabase(url: string): Promise<Knex> {
  try {
    const database = knex({
      // Knex would print every error with the values of the query, which can be personal data.
      log: { warn() {}, error() {}, deprecate() {}, debug() {} },
      compileSqlOnError: false,
      ...(await configure(url)),
    });
    await connect(database);
    return database;
  } catch (error) {
    if (error instanceof SettingsError) throw error;
    // Knex's error for a driver that is not installed.
    const [, driver] = /npm install (\S+)/.exec(String(error)) ?? [];
    if (driver !== undefined) {
      throw new SettingsError(
        `DATABASE_URL: this database needs the package ${driver}: ${driverCommand(driver)}`,
        { cause: error },
      );
    }
    const reason = error instanceof Error ? error.message.replaceAll(/\s+/g, ' ') : String(error);
    throw new SettingsError(`DATABASE_URL: the database cannot be opened: ${reason}`, { cause: error });
  }
}

// 5 seconds.
const ATTEMPTS = 100;
const PAUSE = 50;

/** Of two nodes that start at once, SQLite lets one put the new file into WAL mode, and refuses the other. */
async function connect(database: Knex): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await database.raw('select 1');
      return;
    } catch (error) {
      if (attempt === ATTEMPTS || (error as { code?: unknown }).code !== 'SQLITE_BUSY') throw error;
      await delay(PAUSE);
    }
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
      return { client: 'mysql2', connection: withUtf8mb4(url.replace('mariadb:', 'mysql:')) };
  }
  throw new SettingsError(
    'DATABASE_URL: give a sqlite:, postgres:, mysql: or mariadb: URL, such as sqlite:/var/lib/platform.sqlite.',
  );
}

/** Knex creates tables with the character set of the connection. The default of the database may be latin1. */
function withUtf8mb4(url: string): string {
  const parsed = new URL(url);
  if (!parsed.searchParams.has('charset')) parsed.searchParams.set('charset', 'utf8mb4');
  return parsed.href;
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
      afterCreate(
        connection: { close(): void; pragma(source: string): unknown },
        done: (error?: unknown) => void,
      ) {
        try {
          // With WAL, readers do not wait for a writer; with busy_timeout, a second writer waits instead of failing.
          // SQLite does not always wait for WAL itself, and would block the thread: see `connect`.
          connection.pragma('busy_timeout = 0');
          connection.pragma('journal_mode = WAL');
          connection.pragma('busy_timeout = 5000');
          connection.pragma('synchronous = NORMAL');
          done();
        } catch (error) {
          connection.close();
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
      // In the order of a page, so that only the rows of the page are read.
      table.index(['name', 'id']);
      table.index(['city', 'id']);
    });
  },
};

/**
 * Migrates the platform's own tables. `storage.migrate()` migrates those of Gatehouse in the same database.
 *
 * Several nodes may do this at the same time: each migration runs once.
 */
export async function migrateDatabase(database: Knex): Promise<void> {
  await prepareTasks(database);
  for (const [name, migrate] of Object.entries(MIGRATIONS)) {
    await doOnce(database, `migration ${name}`, () => database.transaction(migrate));
  }
}
