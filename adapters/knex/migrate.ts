import type { Milliseconds, Seconds } from '../../lib/contracts/duration.ts';
import { now } from '../../lib/contracts/clock.ts';
import type { Database } from './database.ts';
import type { Dialect } from './dialect.ts';
import { errorKind } from './error-kinds.ts';
import { findPendingMigrations, migrations } from './migrations/index.ts';
import type { Statements } from './statements.ts';
import { indexClientNames } from './stores/client-names.ts';
import type { Integer } from './stores/column-values.ts';
import { createTable } from './table.ts';

// Another node may be migrating large tables.
const TIMEOUT: Milliseconds = 60_000;

/**
 * Fills what a migration has added, for rows that were there, or were changed since a time: in small
 * transactions, beside other nodes. It can be run again, also by two nodes at once.
 */
type Fill = (database: Database, since: Seconds) => Promise<void>;

const FILLS: ReadonlyMap<string, Fill> = new Map([['0016_client_names', indexClientNames]]);

/**
 * Runs the pending migrations, also when several nodes start at the same time.
 *
 * The lock of Knex's own migrator is a row, which remains when its process is killed. SQLite's write lock and PostgreSQL's
 * advisory lock are freed with the connection, and both databases roll back a half-done migration. MariaDB and MySQL cannot,
 * and their named locks are local to one member of a Galera cluster. So every migration can be run again, also by two nodes side
 * by side: the server does their changes of a table one after the other.
 */
export async function migrate(database: Database): Promise<void> {
  const { dialect } = database;
  const pending = await database.connection(findPendingMigrations);
  const markApplied = `
    insert into gatehouse_migrations (name, applied_at) values (?, ?)
    ${dialect.onConflict({ table: 'gatehouse_migrations', key: ['name'] })}`;
  if (pending.length > 0) await applyPending(database, markApplied);
  for (const [name, fill] of FILLS) {
    const applied = await database.get<{ applied_at: Integer }>(APPLIED_AT, [name]);
    const at = Number(applied?.applied_at ?? 0);
    if (at === 0 || now() - at < BESIDE) await fill(database, Math.max(at - LONGEST_FILL, 0));
    if (!applied) await database.run(markApplied, [name, now()]);
  }
}

const APPLIED_AT = 'select applied_at from gatehouse_migrations where name = ?';

// How long nodes of the version before may run beside migrated ones, and change rows in their way.
const BESIDE: Seconds = 7 * 86_400;

// A migration is applied when its rows are filled.
const LONGEST_FILL: Seconds = 86_400;

async function applyPending(database: Database, markApplied: string): Promise<void> {
  const { dialect } = database;
  const until = performance.now() + TIMEOUT;
  await database.transaction(async (statements) => {
    await dialect.lockMigrations?.(statements);
    for (const sql of createTable(dialect, MIGRATIONS)) await runUnlessDone(sql, statements, dialect, until);
    const missing = new Set(await findPendingMigrations(statements));
    for (const { name, up } of migrations.filter((migration) => missing.has(migration.name))) {
      for (const sql of up(dialect)) await runUnlessDone(sql, statements, dialect, until);
      if (!FILLS.has(name)) await statements.run(markApplied, [name, now()]);
    }
  }, TIMEOUT);
}

/**
 * Runs a statement of a migration. Another node may have made the same change. A member of a Galera cluster interrupts a statement
 * that changes a table when another member changes it: it is run again.
 *
 * @param until - by `performance.now()`: when this node itself interrupts
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

const MIGRATIONS = {
  name: 'gatehouse_migrations',
  columns: { name: 'id', applied_at: 'integer' },
  key: ['name'],
} as const;
