import type { Dialect } from './dialect.ts';
import { migrations } from './migrations/index.ts';
import type { Statements } from './statements.ts';

/** Names of the migrations that have not run, in order. All of them on a database that Gatehouse has never seen. */
export async function findPendingMigrations(
  statements: Statements,
  dialect: Dialect,
): Promise<readonly string[]> {
  const applied = await appliedMigrations(statements, dialect);
  return migrations.map(({ name }) => name).filter((name) => !applied.has(name));
}

async function appliedMigrations(statements: Statements, dialect: Dialect): Promise<ReadonlySet<string>> {
  try {
    const rows = await statements.all<{ name: string }>('select name from gatehouse_migrations');
    return new Set(rows.map(({ name }) => name));
  } catch (error) {
    if (dialect.trouble(error) === 'missing table') return new Set();
    throw error;
  }
}
