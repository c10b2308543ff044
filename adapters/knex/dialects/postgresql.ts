import { createHash } from 'node:crypto';

import {
  codeOf,
  deleteExpired,
  onConflict,
  rowsAfter,
  selectExpired,
  selectKeys,
  SKIP_LOCKED,
} from '../dialect.ts';
import type { Dialect, ErrorKind } from '../dialect.ts';
import { postgresqlInterruption, ReadOnlyError, watchReplication } from './postgresql-connection.ts';
import type { PostgresqlClient, PostgresqlConnection, Result } from './postgresql-connection.ts';
import { rollbackOrAbandon, serverStatements } from './server-statements.ts';
import type { Wire } from './server-statements.ts';

// "gate" in ASCII. PostgreSQL's advisory locks have a number as their name; they are separate for each database.
const MIGRATION_LOCK = 0x67617465;

// 'on' on a standby, and where `default_transaction_read_only` is set.
const READ_ONLY = `select current_setting('transaction_read_only') as read_only`;

/**
 * PostgreSQL through pg.
 *
 * @param isCockroach - CockroachDB, which has the same protocol: it refuses to change a table twice in one statement and knows
 * neither PostgreSQL's collations nor its advisory locks. It compares text by bytes.
 */
export function postgresqlDialect(
  client: PostgresqlClient,
  { isCockroach = false }: { readonly isCockroach?: boolean } = {},
): Dialect<PostgresqlConnection> {
  const interruption = postgresqlInterruption(client);
  const wire: Wire<PostgresqlConnection, Result> = {
    send: namedStatements(),
    rows: ({ rows }) => rows,
    changes: ({ rowCount }) => rowCount ?? 0,
  };

  return {
    name: 'postgresql',
    types: {
      id: isCockroach ? 'varchar(255)' : 'varchar(255) collate "C"',
      text: 'text',
      integer: 'bigint',
      flag: 'smallint',
    },
    clock: 'floor(extract(epoch from clock_timestamp()) * 1000)',
    begin: 'begin',
    forUpdate: ' for update',
    canChangeInQueries: !isCockroach,
    returnsUpdatedRows: false,
    inlineIndexes: false,
    // CockroachDB does not roll back a half-done migration.
    addColumn: 'add column if not exists',
    primaryKeyHint: '',
    indexHint: () => '',
    rowsAfter,
    onConflict: (conflict) => onConflict(conflict, 'greatest'),
    countsConflicts: true,
    async deleteSome(statements, rows, limit) {
      const { key, table, values } = rows;
      // With the lock, PostgreSQL checks the condition again on a row that another transaction has just changed.
      const sql = `delete from ${table} where (${key.join(', ')}) in (${selectKeys(rows)} for update)`;
      return statements.run(sql, [...values, limit]);
    },
    async deleteExpired(connections, rows, limit) {
      // Two bounds of one column are taken for a small range, of which all rows would be read and sorted for each batch. Of a
      // comparison of two columns PostgreSQL takes the first as the bound in the index, and expects more rows than are wanted.
      const isFrom = `(${rows.column}, ${rows.key[0]}) >= (?, '')`;
      const sql = `${selectExpired(rows.key, rows, isFrom)}${SKIP_LOCKED}`;
      return deleteExpired(connections, sql, { rows, limit });
    },
    enter(connection) {
      watchReplication(connection);
      return serverStatements(wire, connection);
    },
    leave() {},
    rollback: async (connection) =>
      rollbackOrAbandon(serverStatements(wire, connection), connection, interruption),
    confirmation: CONFIRMATION,
    interruption,
    async requireWritable(statements) {
      const { read_only: readOnly } = (await statements.get<{ read_only: string }>(READ_ONLY))!;
      if (readOnly === 'on') throw new ReadOnlyError();
    },
    async lockMigrations(statements) {
      // Without a time limit, because other nodes wait here, and creating an index on a large table takes long.
      await statements.run('set local lock_timeout = 0; set local statement_timeout = 0');
      if (isCockroach) return;
      await statements.get('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    },
    async checkMigrating(statements) {
      const row = await statements.get<{ refused: boolean }>(REFUSES_MIGRATIONS);
      // insufficient_privilege
      if (row?.refused) throw Object.assign(new Error('the user may not migrate'), { code: '42501' });
    },
    errorKind,
  };
}

// A lock is written to the log, so the commit waits for the standby as that of a change does. This one is in the way of no change of
// the row: only deleting it would wait. Without a standby it is a read. CockroachDB does not know the setting.
const CONFIRMATION = `
  select 1 from gatehouse_revocations
  where kind = 'sequence' and value = '' and current_setting('synchronous_standby_names', true) <> ''
  for key share`;

// A migration creates tables in the first schema of the search path, and only their owner can change them.
const REFUSES_MIGRATIONS = `
  select not coalesce(has_schema_privilege(current_schema(), 'CREATE'), false) or exists (
    select 1 from pg_tables t
    where t.schemaname = current_schema() and t.tablename like 'gatehouse\\_%' and not pg_has_role(t.tableowner, 'USAGE')
  ) as refused`;

/**
 * Sends statements as named prepared statements, which a connection plans once: planning takes longer than finding a row.
 *
 * A connection pooler such as PgBouncer may use another server connection for each transaction, on which the name is not
 * defined. After the first such error, statements are sent without names.
 */
function namedStatements(): Wire<PostgresqlConnection, Result>['send'] {
  const named = new Map<string, { readonly text: string; readonly name: string }>();
  let useNames = true;

  function nameStatement(sql: string): { readonly text: string; readonly name: string } {
    let statement = named.get(sql);
    if (!statement) {
      // A hash, because several storages may share these connections: a name must mean the same statement in all of them.
      const hash = createHash('sha256').update(sql).digest('hex').slice(0, 16);
      let position = 0;
      const text = sql.replaceAll('?', () => `$${(position += 1)}`);
      statement = { text, name: `gatehouse_${hash}` };
      named.set(sql, statement);
    }
    return statement;
  }

  return async (connection, given, values) => {
    // PostgreSQL accepts several statements in one text (see lockMigrations) only without a name and without values.
    if (values.length === 0) return connection.query({ text: given });
    const { text, name } = nameStatement(given);
    try {
      return await connection.query({ text, values, ...(useNames && { name }) });
    } catch (error) {
      if (isNameError(error)) useNames = false;
      throw error;
    }
  };
}

function isNameError(error: unknown): boolean {
  const code = codeOf(error);
  return (
    code === '26000' || // invalid_sql_statement_name: the name is not defined on this connection
    code === '42P05' || // duplicate_prepared_statement: the name is defined already
    // feature_not_supported: a migration has changed the type of a column
    (code === '0A000' && /cached plan/.test(String(error)))
  );
}

function errorKind(error: unknown): ErrorKind {
  if (isNameError(error)) return 'contention';
  switch (codeOf(error)) {
    case '40001': // serialization_failure
    case '40P01': // deadlock_detected
    case '55P03': // lock_not_available
      return 'contention';
    case '53300': // too_many_connections
      return 'too many connections';
    case '25006': // read_only_sql_transaction
      return 'read only';
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
