import { createHash } from 'node:crypto';

import type { Dialect } from '../dialect.ts';
import { CodedError, isNameError, ReadOnlyError } from '../error-kinds.ts';
import { statementsBy } from './server-statements.ts';
import type { Send } from './server-statements.ts';
import { standardSql } from './standard-sql.ts';

// "gate" in ASCII. PostgreSQL's advisory locks have a number as their name; they are separate for each database.
const MIGRATION_LOCK = 0x67617465;

// 'on' on a standby, and where `default_transaction_read_only` is set.
const READ_ONLY = `select current_setting('transaction_read_only') as read_only`;

/** PostgreSQL. */
export function postgresqlDialect(): Dialect {
  return {
    ...standardSql({
      greatest: 'greatest',
      // With the lock, PostgreSQL checks the condition again on a row that another transaction has just changed.
      forUpdate: ' for update',
      // Two bounds of one column are taken for a small range, of which all rows would be read and sorted for each batch. Of a
      // comparison of two columns PostgreSQL takes the first as the bound in the index, and expects more rows than are wanted.
      isFrom: ({ column, key }) => `(${column}, ${key[0]}) >= (?, '')`,
    }),
    name: 'postgresql',
    types: {
      id: 'varchar(255) collate "C"',
      text: 'text',
      integer: 'bigint',
      flag: 'smallint',
      counter: 'bigint default 0',
    },
    // A host may have another level as the default. At REPEATABLE READ a statement that has waited for a lock, after which the row is as
    // it was, would go on with what was visible before the wait, and miss what the holder of the lock has inserted.
    begin: 'begin isolation level read committed',
    clock: 'floor(extract(epoch from clock_timestamp()) * 1000)',
    canChangeInQueries: true,
    returnsUpdatedRows: false,
    addColumn: 'add column if not exists',
    forUpdate: ' for update',
    enter: statementsBy(namedStatements()),
    async rollback({ query }) {
      await query('rollback', []);
    },
    confirmation: CONFIRMATION,
    async requireLive({ get }) {
      await get('select 1');
    },
    async requireWritable({ get }) {
      if ((await get<{ read_only: string }>(READ_ONLY))!.read_only === 'on') throw new ReadOnlyError();
    },
    async lockMigrations({ get, run }) {
      // Without a time limit, because other nodes wait here, and creating an index on a large table takes long.
      await run('set local lock_timeout = 0');
      await run('set local statement_timeout = 0');
      await get('select pg_advisory_xact_lock(?)', [MIGRATION_LOCK]);
    },
    async checkMigrating({ get }) {
      const row = await get<{ refused: boolean }>(REFUSES_MIGRATIONS);
      // insufficient_privilege
      if (row?.refused) throw new CodedError('42501', 'the user may not migrate');
    },
  };
}

// A lock is written to the log, so the commit waits for the standby as that of a change does. This one is in the way of no change of
// the row: only deleting it would wait. Without a standby it is a read.
const CONFIRMATION = `
  select 1 from gatehouse_revocations
  where kind = 'sequence' and value = '' and current_setting('synchronous_standby_names') <> ''
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
function namedStatements(): Send {
  const named = new Map<string, { readonly text: string; readonly name: string }>();
  let useNames = true;

  function nameStatement(sql: string): { readonly text: string; readonly name: string } {
    // A hash, because several storages may share these connections: a name must mean the same statement in all of them.
    const hash = createHash('sha256').update(sql).digest('hex').slice(0, 16);
    let position = 0;
    const text = sql.replaceAll('?', () => `$${(position += 1)}`);
    const statement = { text, name: `gatehouse_${hash}` };
    named.set(sql, statement);
    return statement;
  }

  return async (connection, given, values) => {
    const { text, name } = named.get(given) ?? nameStatement(given);
    try {
      return await connection.query(text, values, values.length > 0 && useNames ? name : undefined);
    } catch (error) {
      if (isNameError(error)) useNames = false;
      throw error;
    }
  };
}
