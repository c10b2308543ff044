import { ConfigError } from '../errors.ts';
import { createTable } from './create-table.ts';
import type { Migration } from './create-table.ts';
import type { Dialect } from './dialect.ts';
import { errorKind } from './error-kinds.ts';
import type { Statements } from './statements.ts';
import type { StoredTable } from './table.ts';
import { TABLES } from './tables.ts';

/** The steps that make the tables: the first one, and those of tables that came later. */
export function migrationsOf(tables: readonly StoredTable[]): readonly Migration[] {
  const first = tables.filter(({ since }) => since === undefined);
  const later = tables.flatMap((table): Migration[] =>
    table.since === undefined ? [] : [{ name: table.since, up: (dialect) => createTable(dialect, table) }],
  );
  return [firstOf(first), ...later.toSorted((one, other) => (one.name < other.name ? -1 : 1))];
}

function firstOf(tables: readonly StoredTable[]): Migration {
  return {
    name: '0001_tables',
    up: (dialect) => [
      ...tables.flatMap((table) => createTable(dialect, table)),
      // Concurrent ends wait for the lock of this row: no number is used twice or becomes visible before a smaller one.
      `insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
       values ('sequence', '', 0, ${Number.MAX_SAFE_INTEGER}, 1)
       ${dialect.onConflict({ table: 'gatehouse_revocations', key: ['kind', 'value'] })}`,
    ],
  };
}

/**
 * Every step of the schema, oldest first. After the first release, each change of the schema is a new step: a published step never
 * changes.
 */
export const MIGRATIONS: readonly Migration[] = migrationsOf(TABLES);

/** The table of the migrations that have run. */
export const APPLIED = {
  name: 'gatehouse_migrations',
  columns: { name: 'id', applied_at: 'integer' },
  key: ['name'],
} as const;

/** The statements that create all tables in an empty database. */
export function schemaOf(dialect: Dialect): readonly string[] {
  return [
    ...createTable(dialect, APPLIED),
    ...MIGRATIONS.flatMap(({ name, up }) => [
      ...up(dialect),
      `insert into gatehouse_migrations (name, applied_at) values ('${name}', 0)`,
    ]),
  ];
}

/** The first migration of the versions that were never released. */
const UNRELEASED = '0001_first_tables';

/**
 * Names of the migrations that have not run, in order. On a database without Gatehouse's tables, none has run. Names in the database that
 * this version does not know belong to a later version.
 *
 * @throws ConfigError when an unreleased version has made the tables
 */
export async function findPendingMigrations(
  statements: Pick<Statements, 'all'>,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<readonly string[]> {
  const applied = await statements
    .all<{ name: string }>('select name from gatehouse_migrations')
    .catch((error: unknown) => {
      if (errorKind(error) === 'missing table') return [];
      throw error;
    });
  const names = new Set(applied.map(({ name }) => name));
  if (names.has(UNRELEASED)) {
    throw new ConfigError(
      'storage',
      'the tables of this database were made by a version from before 0.1.0, which was never released, and cannot be upgraded; drop the tables whose names begin with gatehouse_, or use another database, and run `npx gatehouse migrate`',
    );
  }
  return migrations.map(({ name }) => name).filter((name) => !names.has(name));
}
