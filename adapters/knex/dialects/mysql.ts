import { codeOf } from '../dialect.ts';
import type { Dialect, Trouble } from '../dialect.ts';
import { rollbackOrDispose, serverStatements } from './server-statements.ts';
import type { ResponseReader, ServerClient, ServerConnection } from './server-statements.ts';

// The usual collations ignore case, and most binary ones ignore trailing blanks. The two servers have different names for
// the one that ignores neither; each reads only its own kind of comment.
const EXACT = 'character set utf8mb4 collate /*M!100200 utf8mb4_nopad_bin */ /*!80017 utf8mb4_0900_bin */';

// Named locks belong to the whole server, and a name has at most 64 characters.
const MIGRATION_LOCK = "concat('gatehouse:', md5(database()))";

/** Rows, or the header of a statement that has none; what follows describes the columns. */
type Response = readonly [never[] & { readonly affectedRows: number }, ...unknown[]];

/** MariaDB and MySQL through mysql2. */
export function mysqlDialect(client: ServerClient<Response>): Dialect<ServerConnection> {
  const read: ResponseReader<Response> = {
    rows: ([rows]) => rows,
    changes: ([{ affectedRows }]) => affectedRows,
  };

  return {
    name: 'mysql',
    types: {
      id: `varchar(255) ${EXACT}`,
      text: `mediumtext ${EXACT}`,
      integer: 'bigint',
      flag: 'tinyint',
    },
    begin: 'begin',
    forUpdate: ' for update',
    inlineIndexes: true,
    onConflict({ table, replace = [], greatest = [] }) {
      const assignments = [
        ...replace.map((column) => `${column} = values(${column})`),
        ...greatest.map((column) => `${column} = greatest(values(${column}), ${table}.${column})`),
      ];
      return `on duplicate key update ${assignments.join(', ')}`;
    },
    deleteSmallest: (table, _key, column) =>
      `delete from ${table} where ${column} < ? order by ${column} limit ?`,
    enter: (connection) => serverStatements(client, connection, read),
    leave() {},
    rollback: async (connection) => rollbackOrDispose(serverStatements(client, connection, read), connection),
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

function trouble(error: unknown): Trouble {
  switch (codeOf(error)) {
    case 'ER_LOCK_DEADLOCK':
    case 'ER_LOCK_WAIT_TIMEOUT':
      return 'contention';
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
