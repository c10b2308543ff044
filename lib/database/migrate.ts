import type { Milliseconds } from '../contracts/duration.ts';
import { now } from '../contracts/clock.ts';
import type { Database } from './database.ts';
import type { Dialect } from './dialect.ts';
import { errorKind } from './error-kinds.ts';
import { APPLIED, findPendingMigrations, MIGRATIONS } from './migrations.ts';
import type { Statements } from './statements.ts';
import { createTable } from './create-table.ts';
import type { Migration } from './create-table.ts';

// Another node may be migrating large tables.
const TIMEOUT: Milliseconds = 60_000;

/**
 * Runs the pending migrations, also when several nodes start at the same time.
 *
 * The lock of Knex's own migrator is a row, which remains when its process is killed. SQLite's write lock and PostgreSQL's
 * advisory lock are freed with the connection, and both databases roll back a half-done migration. MariaDB and MySQL cannot,
 * and their named locks are local to one member of a Galera cluster. So every migration can be run again, also by two nodes side
 * by side: the server does their changes of a table one after the other.
 */
export async function migrate(
  database: Database,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<void> {
  const { dialect } = database;
  const pending = await database.connection(async (statements) =>
    findPendingMigrations(statements, migrations),
  );
  if (pending.length === 0) return;
  const markApplied = `
    insert into gatehouse_migrations (name, applied_at) values (?, ?)
    ${dialect.onConflict({ table: 'gatehouse_migrations', key: ['name'] })}`;
  const until = performance.now() + TIMEOUT;
  await database.transaction(async (statements) => {
    await dialect.lockMigrations?.(statements);
    for (const sql of createTable(dialect, APPLIED)) await runUnlessDone(sql, statements, dialect, until);
    const missing = new Set(await findPendingMigrations(statements, migrations));
    for (const { name, up } of migrations.filter((migration) => missing.has(migration.name))) {
      for (const sql of up(dialect)) await runUnlessDone(sql, statements, dialect, until);
      await statements.run(markApplied, [name, now()]);
    }
  }, TIMEOUT);
}

/**
 * Runs a statement of a migration. Another node may have made the same change. A member of a Galera cluster interrupts a statement that
 * changes a table when another member changes it: it is run again.
 *
 * @param until - the time, by `performance.now()`, at which this node itself interrupts
 */
async function runUnlessDone(
  sql: string,
  statements: Statements,
  dialect: Dialect,
  until: Milliseconds,
): Promise<void> {
  for (;;) {
    try {
      await statements.run(sql);
      return;
    } catch (error) {
      const kind = errorKind(error);
      if (kind === 'already changed') return;
      // Where nodes migrate one after the other, the transaction has ended with the error.
      const mayRepeat = kind === 'interrupted' && !dialect.lockMigrations && performance.now() < until;
      if (!mayRepeat) throw error;
    }
  }
}
