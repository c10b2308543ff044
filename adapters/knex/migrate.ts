import { now } from '../../lib/contracts/clock.ts';
import type { Database } from './database.ts';
import { findPendingMigrations, migrations } from './migrations/index.ts';
import { createTable } from './table.ts';

// In milliseconds: another node may be migrating large tables.
const TIMEOUT = 60_000;

/**
 * Runs the pending migrations, each once, also when several nodes start at the same time.
 *
 * The lock of Knex's own migrator is a row, which remains when its process is killed. Here the lock is one that the database
 * frees with the connection: SQLite's write lock, PostgreSQL's advisory lock, MariaDB's named lock. SQLite and PostgreSQL roll
 * back a half-done migration; MariaDB and MySQL cannot, so every migration can be run again.
 */
export async function migrate(database: Database): Promise<void> {
  const { dialect } = database;
  const pending = await database.connection(async (statements) => findPendingMigrations(statements, dialect));
  if (pending.length === 0) return;
  await database.transaction(async (statements) => {
    await dialect.lockMigrations(statements);
    try {
      for (const sql of createTable(dialect, MIGRATIONS)) await statements.run(sql);
      const missing = new Set(await findPendingMigrations(statements, dialect));
      for (const { name, up } of migrations.filter((migration) => missing.has(migration.name))) {
        for (const sql of up(dialect)) await statements.run(sql);
        const appliedAt = now();
        await statements.run('insert into gatehouse_migrations (name, applied_at) values (?, ?)', [
          name,
          appliedAt,
        ]);
      }
    } finally {
      await dialect.unlockMigrations(statements);
    }
  }, TIMEOUT);
}

const MIGRATIONS = {
  name: 'gatehouse_migrations',
  columns: { name: 'id', applied_at: 'integer' },
  key: ['name'],
} as const;
