import { toSeconds } from '../../contracts/duration.ts';
import type { StorageCache } from '../../contracts/index.ts';
import { StorageError } from '../../errors.ts';
import type { Condition, Dialect, ExpiredRows, RemovableRows } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';
import type { Integer } from '../rows.ts';
import { mysqlServers, unlessUnknown } from './mysql-servers.ts';
import { statementsBy } from './server-statements.ts';
import { selectExpired, selectKeys } from './standard-sql.ts';

// The usual collations ignore case, and most binary ones ignore trailing blanks. MariaDB and MySQL have different names for
// the collation that respects both; each server reads only its own kind of comment.
const EXACT = 'character set utf8mb4 collate /*M!100200 utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */';

// On MariaDB, the time limit is part of the statement: it does not change a connection that a host uses too, and a proxy passes it on.
// These statements take no limit.
const UNLIMITED = /^(commit|rollback|prepare|deallocate)/;

/**
 * MariaDB and MySQL.
 *
 * Conditional changes and `select ... for update` decide between concurrent callers: in InnoDB they wait for each other and read
 * committed rows, also at REPEATABLE READ, where a plain `select` reads an older snapshot.
 */
export function mysqlDialect(): Dialect {
  const servers = mysqlServers();

  return {
    begin: 'begin',
    forUpdate: ' for update',
    enter: (connection, longest) =>
      statementsBy(async ({ query }, sql, values) => {
        const { isMariadb } = await servers.identify(connection);
        const isLimited = isMariadb && longest < Infinity && !UNLIMITED.test(sql);
        const text = withLiterals(sql, values);
        return query(
          isLimited ? `set statement max_statement_time=${toSeconds(longest)} for ${text}` : text,
          [],
        );
      })(connection),
    async rollback({ query }) {
      await query('rollback', []);
    },
    name: 'mysql',
    hasCompoundStatements: async (connection) => (await servers.identify(connection)).isMariadb,
    types: {
      id: `varchar(255) ${EXACT}`,
      text: `mediumtext ${EXACT}`,
      integer: 'bigint',
      flag: 'tinyint',
      counter: 'bigint default 0',
      sequence: 'bigint auto_increment',
    },
    // The server numbers a column only when an index begins with it. The index is not unique, so that no end fails on a cluster whose
    // members count alike.
    keys: (key, sequence) => [
      `primary key (${key})`,
      ...(sequence === undefined ? [] : [`index (${sequence})`]),
    ],
    // Computed in UTC, because local time repeats an hour each year.
    clock: `timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000`,
    canChangeInQueries: false,
    returnsUpdatedRows: false,
    inlineIndexes: true,
    addColumn: 'add column',
    // The default of a server may be an engine without transactions.
    tableOptions: ' engine = InnoDB',
    primaryKeyHint: ' force index (primary)',
    indexHint: (index) => ` force index (${index})`,
    rowsAfter,
    onConflict({ table, key, replace = [], greatest = [], when }) {
      const assignments = [
        ...replace.map((column) => `${column} = ${newValue(table, column, { mark: replace[0]!, when })}`),
        ...greatest.map((column) => `${column} = greatest(values(${column}), ${table}.${column})`),
      ];
      if (assignments.length === 0) assignments.push(`${key[0]} = ${table}.${key[0]}`);
      return `on duplicate key update ${assignments.join(', ')}`;
    },
    // The server reports the same number of rows for an unchanged row as for an inserted one.
    countsConflicts: false,
    deleteSome,
    deleteExpired: async (database, rows, limit) =>
      database.transaction(async (statements) => deleteExpired(statements, rows, limit)),
    async requireLive({ get }) {
      // MySQL has no such variable.
      const state = await unlessUnknown(get<{ live: Integer }>('select @@in_transaction as live'));
      if (state && Number(state.live) === 0) throw new StorageError(ROLLED_BACK);
    },
    requireWritable: async (statements) => servers.requireWritable(statements),
    async checkMigrating(statements) {
      // Preparing a statement checks its privileges and does not run it.
      await statements.run("prepare gatehouse_step from 'create table gatehouse_migrated (id int)'");
      await statements.run('deallocate prepare gatehouse_step');
    },
    readCache,
    async findWithoutTransactions(statements) {
      const rows = await statements.all<{ name: string }>(OTHER_ENGINES, []);
      return rows.map(({ name }) => name);
    },
  };
}

const ROLLED_BACK =
  'The server rolled the transaction back at a deadlock, and committed each later statement of its work on its own. Let the error of a deadlock end the transaction.';

// Without the audit log: its rows are added at the end, and only lists of events read them, so that it may be larger than the
// cache. `left()`, because the character that escapes an underscore in `like` depends on the mode of the server.
const CACHE = `
  select @@innodb_buffer_pool_size as size, sum(data_length + index_length) as needed from information_schema.tables
  where table_schema = database() and engine = 'InnoDB'
    and left(table_name, 10) = 'gatehouse_' and table_name <> 'gatehouse_audit'`;

const OTHER_ENGINES = `
  select table_name as name from information_schema.tables
  where table_schema = database() and engine <> 'InnoDB' and left(table_name, 10) = 'gatehouse_' order by table_name`;

/** By the statistics of the server, because counting would read the tables. MySQL renews them once a day. */
async function readCache(statements: Statements): Promise<StorageCache | undefined> {
  const row = await unlessUnknown(statements.get<{ size: Integer; needed: Integer | null }>(CACHE));
  if (!row || row.needed === null) return undefined;
  return { size: Number(row.size), needed: Number(row.needed) };
}

/**
 * Works in two steps, because a replica that repeats a statement might remove other rows by a condition with a limit. Another node may
 * have removed all rows that were found. Since 0 means that nothing is left, the query is then repeated. Its lock waits for a removal
 * under way and finds current rows in any transaction.
 */
async function deleteSome(statements: Statements, rows: RemovableRows, limit: number): Promise<number> {
  const isStill = { sql: `and ${rows.condition}`, values: rows.values };
  for (;;) {
    const found = await statements.all<KeyRow>(`${selectKeys(rows)} for update`, [...rows.values, limit]);
    if (found.length === 0) return 0;
    const removed = await deleteFound(statements, rows, found, isStill);
    if (removed > 0) return removed;
  }
}

/** Runs inside a transaction. The query names the index, because the server may read and lock all rows of a small table. */
async function deleteExpired(
  statements: Statements,
  rows: ExpiredRows,
  limit: number,
): Promise<readonly number[]> {
  const { table, key, column, from, before } = rows;
  const found = await statements.all<KeyRow>(
    `${selectExpired([...key, column], { table: `${table} force index (${table}_${column})`, column })} for update skip locked`,
    [from, before, limit],
  );
  if (found.length > 0) await deleteFound(statements, rows, found);
  return found.map((row) => Number(row[column]));
}

/** The primary key of a row. */
type KeyRow = Readonly<Record<string, Value>>;

/**
 * Deletes rows that were found, if they still meet a condition. The statement has an order by the key and a limit, because for the keys
 * alone the server may read and lock a whole table of a thousand rows, and wait for each locked row.
 */
async function deleteFound(
  statements: Statements,
  { table, key }: Pick<RemovableRows, 'table' | 'key'>,
  found: readonly KeyRow[],
  { sql, values }: Condition = { sql: '', values: [] },
): Promise<number> {
  const isRow = `(${key.map((column) => `${column} = ?`).join(' and ')})`;
  return statements.run(
    `delete from ${table} where (${found.map(() => isRow).join(' or ')}) ${sql}
     order by ${key.join(', ')} limit ?`,
    [...found.flatMap((row) => key.map((column) => row[column]!)), ...values, found.length],
  );
}

/**
 * The assigned value of a column. `on duplicate key update` has no condition for the whole row, and each assignment sees the
 * results of those before it: the first column checks the condition, the others compare the first column.
 */
function newValue(
  table: string,
  column: string,
  { mark, when }: { readonly mark: string; readonly when: string | undefined },
): string {
  if (when === undefined) return `values(${column})`;
  const condition = column === mark ? when : `${table}.${mark} = values(${mark})`;
  return `if(${condition}, values(${column}), ${table}.${column})`;
}

/** Uses no row values, because MariaDB and MySQL find no range of an index by them. */
function rowsAfter([column, ...columns]: readonly string[], [value, ...values]: readonly Value[]): Condition {
  if (columns.length === 0) return { sql: `${column} > ?`, values: [value!] };
  const rest = rowsAfter(columns, values);
  return {
    sql: `(${column} > ? or (${column} = ? and ${rest.sql}))`,
    values: [value!, value!, ...rest.values],
  };
}

/** Replaces each `?` of a statement by its value. */
function withLiterals(sql: string, values: readonly Value[]): string {
  let index = 0;
  return sql.replaceAll('?', () => toLiteral(values[index++] ?? null));
}

/**
 * A value as SQL.
 *
 * mysql2 escapes with backslashes, which are plain characters in the mode NO_BACKSLASH_ESCAPES: a quote in a value would end the string
 * there (SQL injection). Hexadecimal digits are safe in every mode and character set. Prepared statements would be safe too, but MySQL
 * refuses the `limit` values that mysql2 sends with them, and they are no faster.
 */
function toLiteral(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  return value === '' ? "''" : `_utf8mb4 x'${Buffer.from(value, 'utf8').toString('hex')}'`;
}
