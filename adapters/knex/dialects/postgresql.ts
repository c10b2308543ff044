import { codeOf, deleteSmallest, onConflict } from '../dialect.ts';
import type { Dialect, Trouble } from '../dialect.ts';
import { rollbackOrDispose, serverStatements } from './server-statements.ts';
import type { ResponseReader, ServerClient, ServerConnection } from './server-statements.ts';

// "gate" in ASCII. Advisory locks are named by number, for each database.
const MIGRATION_LOCK = 0x67617465;

interface Result {
  readonly rows: never[];
  readonly rowCount: number | null;
}

/** PostgreSQL through pg. */
export function postgresqlDialect(client: ServerClient<Result>): Dialect<ServerConnection> {
  const read: ResponseReader<Result> = {
    rows: ({ rows }) => rows,
    changes: ({ rowCount }) => rowCount ?? 0,
  };

  return {
    name: 'postgresql',
    types: { id: 'varchar(255) collate "C"', text: 'text', integer: 'bigint', flag: 'smallint' },
    begin: 'begin',
    forUpdate: ' for update',
    inlineIndexes: false,
    onConflict: (conflict) => onConflict(conflict, 'greatest'),
    deleteSmallest,
    enter: (connection) => serverStatements(client, connection, read),
    leave() {},
    rollback: async (connection) => rollbackOrDispose(serverStatements(client, connection, read), connection),
    async lockMigrations(statements) {
      await statements.get('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    },
    // The end of the transaction unlocks.
    async unlockMigrations() {},
    trouble,
  };
}

function trouble(error: unknown): Trouble {
  switch (codeOf(error)) {
    case '40001': // serialization_failure
    case '40P01': // deadlock_detected
    case '55P03': // lock_not_available
      return 'contention';
    case '42P01': // undefined_table
    case '42703': // undefined_column
      return 'missing table';
    case '23505': // unique_violation
      return 'duplicate key';
    default:
      return 'other';
  }
}
