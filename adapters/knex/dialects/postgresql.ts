import { createHash } from 'node:crypto';

import { codeOf, onConflict } from '../dialect.ts';
import type { Dialect, Trouble } from '../dialect.ts';
import { rollbackOrDispose, serverRescue, serverStatements } from './server-statements.ts';
import type { ServerClient, ServerConnection, Wire } from './server-statements.ts';

// "gate" in ASCII. Advisory locks are named by number, for each database.
const MIGRATION_LOCK = 0x67617465;

interface Connection extends ServerConnection {
  end(): unknown;
}

interface Result {
  readonly rows: never[];
  readonly rowCount: number | null;
}

/** PostgreSQL through pg. */
export function postgresqlDialect(client: ServerClient<Result>): Dialect<Connection> {
  const wire: Wire<Connection, Result> = {
    send: namedStatements(client),
    rows: ({ rows }) => rows,
    changes: ({ rowCount }) => rowCount ?? 0,
  };

  return {
    name: 'postgresql',
    types: { id: 'varchar(255) collate "C"', text: 'text', integer: 'bigint', flag: 'smallint' },
    clock: 'floor(extract(epoch from clock_timestamp()) * 1000)',
    begin: 'begin',
    forUpdate: ' for update',
    canChangeInQueries: true,
    inlineIndexes: false,
    onConflict: (conflict) => onConflict(conflict, 'greatest'),
    countsConflicts: true,
    deleteSome(table, key, condition) {
      const columns = key.join(', ');
      // Without the lock, a row that changed since it was selected would be removed for what it was before.
      return `delete from ${table} where (${columns}) in (
        select ${columns} from ${table} where ${condition} limit ? for update
      )`;
    },
    enter: (connection) => serverStatements(wire, connection),
    leave() {},
    rollback: async (connection) => rollbackOrDispose(serverStatements(wire, connection), connection),
    rescue: serverRescue(client, (connection) => void connection.end()),
    async lockMigrations(statements) {
      // Nodes wait for each other here, and an index on a large table takes its time.
      await statements.run('set local lock_timeout = 0; set local statement_timeout = 0');
      await statements.get('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    },
    // The end of the transaction unlocks.
    async unlockMigrations() {},
    trouble,
  };
}

/**
 * Sends statements under a name, so that a connection plans each of them once: planning takes longer than finding a row.
 *
 * A pooler between here and the server may lend another connection for each transaction, where the name is not known.
 * When that happens, names are no longer used.
 */
function namedStatements(client: ServerClient<Result>): Wire<Connection, Result>['send'] {
  const known = new Map<string, { readonly sql: string; readonly name: string }>();
  let areNamed = true;

  function know(sql: string): { readonly sql: string; readonly name: string } {
    let statement = known.get(sql);
    if (!statement) {
      // The same name in every storage on these connections must be the same statement.
      const hash = createHash('sha256').update(sql).digest('hex').slice(0, 16);
      statement = { sql: client.positionBindings(sql), name: `gatehouse_${hash}` };
      known.set(sql, statement);
    }
    return statement;
  }

  return async (connection, given, values) => {
    // Statements without values are rare, and several of them can be sent at once only without a name.
    if (values.length === 0) return (await client._query(connection, { sql: given, bindings: [] })).response;
    const { sql, name } = know(given);
    const options = areNamed ? { options: { name } } : {};
    try {
      return (await client._query(connection, { sql, bindings: values, ...options })).response;
    } catch (error) {
      if (isAboutNames(error)) areNamed = false;
      throw error;
    }
  };
}

function isAboutNames(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === '26000' || // invalid_sql_statement_name: it is not there
    code === '42P05' || // duplicate_prepared_statement: it is there already
    // feature_not_supported: a migration has changed the type of a column
    (code === '0A000' && /cached plan/.test(String(error)))
  );
}

function trouble(error: unknown): Trouble {
  if (isAboutNames(error)) return 'contention';
  switch (codeOf(error)) {
    case '40001': // serialization_failure
    case '40P01': // deadlock_detected
    case '55P03': // lock_not_available
      return 'contention';
    case '53300': // too_many_connections
      return 'too many connections';
    case '57014': // query_canceled
      return 'interrupted';
    case '42P01': // undefined_table
    case '42703': // undefined_column
      return 'missing table';
    case '23505': // unique_violation
      return 'duplicate key';
    default:
      return 'other';
  }
}
