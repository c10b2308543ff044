import { codeOf } from '../dialect.ts';
import type { Dialect, Trouble } from '../dialect.ts';
import type { Value } from '../statements.ts';
import { rollbackOrDispose, serverRescue, serverStatements } from './server-statements.ts';
import type { ServerClient, ServerConnection, Wire } from './server-statements.ts';

// The usual collations ignore case, and most binary ones ignore trailing blanks. The two servers have different names for
// the one that ignores neither; each reads only its own kind of comment.
const EXACT = 'character set utf8mb4 collate /*M!100200 utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */';

// Named locks belong to the whole server, and a name has at most 64 characters.
const MIGRATION_LOCK = "concat('gatehouse:', md5(database()))";

interface Connection extends ServerConnection {
  destroy(): void;
}

/** Rows, or the header of a statement that has none; what follows describes the columns. */
type Response = readonly [never[] & Header, ...unknown[]];

interface Header {
  readonly affectedRows: number;
  /** What the server says of an `update`, such as `Rows matched: 1  Changed: 0  Warnings: 0`. */
  readonly info?: string;
}

/**
 * MariaDB and MySQL through mysql2.
 *
 * Everything that decides between callers is a conditional change or a `select ... for update`: InnoDB lets them wait for
 * each other and shows them what is committed, also at REPEATABLE READ, where a plain `select` shows an older state.
 */
export function mysqlDialect(client: ServerClient<Response>): Dialect<Connection> {
  const wire: Wire<Connection, Response> = {
    async send(connection, sql, values) {
      return (await client._query(connection, { sql: withLiterals(sql, values), bindings: [] })).response;
    },
    rows: ([rows]) => rows,
    changes: ([header]) => found(header),
  };

  return {
    name: 'mysql',
    types: {
      id: `varchar(255) ${EXACT}`,
      text: `mediumtext ${EXACT}`,
      integer: 'bigint',
      flag: 'tinyint',
    },
    // In no time zone, because an hour of each year is there twice.
    clock: `timestampdiff(microsecond, '1970-01-01', utc_timestamp(3)) div 1000`,
    begin: 'begin',
    forUpdate: ' for update',
    canChangeInQueries: false,
    inlineIndexes: true,
    // MariaDB alone has `add column if not exists`.
    unlessColumn: (table, column, sql) => [
      `set @gatehouse_step = (
        select if(count(*) > 0, 'do 0', '${sql}') from information_schema.columns
        where table_schema = database() and table_name = '${table}' and column_name = '${column}'
      )`,
      'prepare gatehouse_step from @gatehouse_step',
      'execute gatehouse_step',
      'deallocate prepare gatehouse_step',
    ],
    onConflict({ table, key, replace = [], greatest = [], when }) {
      const assignments = [
        ...replace.map((column) => `${column} = ${newValue(table, column, { mark: replace[0]!, when })}`),
        ...greatest.map((column) => `${column} = greatest(values(${column}), ${table}.${column})`),
      ];
      if (assignments.length === 0) assignments.push(`${key[0]} = ${table}.${key[0]}`);
      return `on duplicate key update ${assignments.join(', ')}`;
    },
    // A row that stays as it is counts like one that is inserted.
    countsConflicts: false,
    deleteSome: (table, _key, condition) => `delete from ${table} where ${condition} limit ?`,
    enter: (connection) => serverStatements(wire, connection),
    leave() {},
    rollback: async (connection) => rollbackOrDispose(serverStatements(wire, connection), connection),
    rescue: serverRescue(client, (connection) => connection.destroy()),
    async lockMigrations(statements) {
      const row = await statements.get<{ locked: number | null }>(
        `select get_lock(${MIGRATION_LOCK}, 0) as locked`,
      );
      if (row?.locked !== 1) throw new MigrationsLockedError();
    },
    // The lock is the connection's, which goes back to the pool alive.
    async unlockMigrations(statements) {
      await statements.get(`select release_lock(${MIGRATION_LOCK})`);
    },
    trouble,
  };
}

/** The rows that were found, also those that were as they should be: a host may have taken mysql2's flag FOUND_ROWS away. */
function found({ affectedRows, info = '' }: Header): number {
  const matched = /^Rows matched: (\d+)/.exec(info)?.[1];
  return matched === undefined ? affectedRows : Number(matched);
}

/** There is no condition for the whole row, and each assignment sees what those before it have done: the first one decides. */
function newValue(
  table: string,
  column: string,
  { mark, when }: { readonly mark: string; readonly when: string | undefined },
): string {
  if (when === undefined) return `values(${column})`;
  const condition = column === mark ? when : `${table}.${mark} = values(${mark})`;
  return `if(${condition}, values(${column}), ${table}.${column})`;
}

function trouble(error: unknown): Trouble {
  switch (codeOf(error)) {
    case 'ER_LOCK_DEADLOCK':
    case 'ER_LOCK_WAIT_TIMEOUT':
    case 'ER_CHECKREAD': // the row has changed since the transaction's snapshot: innodb_snapshot_isolation
      return 'contention';
    case 'ER_CON_COUNT_ERROR':
    case 'ER_TOO_MANY_USER_CONNECTIONS':
    case 'ER_USER_LIMIT_REACHED':
      return 'too many connections';
    case 'ER_QUERY_INTERRUPTED':
    case 'ER_QUERY_TIMEOUT':
      return 'interrupted';
    case 'ER_NO_SUCH_TABLE':
    case 'ER_BAD_FIELD_ERROR':
      return 'missing table';
    case 'ER_DUP_ENTRY':
      return 'duplicate key';
    default:
      return 'other';
  }
}

class MigrationsLockedError extends Error {
  readonly code = 'ER_LOCK_WAIT_TIMEOUT';

  constructor() {
    super('another node is migrating');
  }
}

/** Puts the values of a statement in the place of its `?`. */
function withLiterals(sql: string, values: readonly Value[]): string {
  let index = 0;
  return sql.replaceAll('?', () => toLiteral(values[index++] ?? null));
}

/**
 * A value as SQL.
 *
 * mysql2 escapes with backslashes, which are plain characters in the mode NO_BACKSLASH_ESCAPES: a quote would end the text
 * there. In hexadecimal digits nothing means anything else, in any mode and any character set. Prepared statements would do
 * as well, but MySQL takes no `limit` from mysql2 in them, and they are no faster.
 */
function toLiteral(value: Value): string {
  if (value === null) return 'null';
  if (typeof value === 'number') return String(value);
  return value === '' ? "''" : `_utf8mb4 x'${Buffer.from(value, 'utf8').toString('hex')}'`;
}
