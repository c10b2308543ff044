import type { SqlConnection, SqlDatabase } from '../../lib/database/port.ts';

/** The part of mysql2's connection that is used here. */
export interface MysqlConnection {
  query(
    statement: {
      readonly sql: string;
      readonly typeCast: true;
      readonly rowsAsArray: false;
      readonly nestTables: false;
    },
    callback: (error: Error | null, response: Response) => void,
  ): unknown;
  end(): unknown;
  destroy(): void;
}

/** Rows, or the header of a statement that returns none. */
type Response = never[] & {
  readonly affectedRows: number;
  /** The server's message about an `update`, such as `Rows matched: 1  Changed: 0  Warnings: 0`. */
  readonly info?: string;
};

/** The part of a pool of mysql2 that is used here. */
interface MysqlPool {
  getConnection(
    callback: (error: Error | null, connection: MysqlConnection & { release(): void }) => void,
  ): void;
}

/** MariaDB or MySQL by a pool of mysql2 or mysql2/promise, which stays open when the storage is closed. */
export function mysql2Database(given: MysqlPool | { readonly pool: MysqlPool }): SqlDatabase {
  const pool = 'pool' in given ? given.pool : given;
  return {
    dialect: 'mysql',
    connect: async () =>
      new Promise((resolve, reject) => {
        pool.getConnection((error, native) => {
          if (error) return reject(error);
          resolve(mysqlConnection(native, (isBroken) => (isBroken ? native.destroy() : native.release())));
        });
      }),
    async close() {},
  };
}

/** A connection of mysql2. */
export function mysqlConnection(native: MysqlConnection, release: SqlConnection['release']): SqlConnection {
  return {
    native,
    async query(sql) {
      const response = await send(native, sql);
      return { rows: response, changes: matchedRows(response) };
    },
    release,
  };
}

export async function send(connection: MysqlConnection, sql: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    // These are mysql2's own defaults: a function `typeCast` of the host may turn a flag into a boolean, and then no client would be
    // disabled.
    connection.query({ sql, typeCast: true, rowsAsArray: false, nestTables: false }, (error, response) =>
      error ? reject(withCode(error)) : resolve(response),
    );
  });
}

/** MariaDB's own errors have numbers for which mysql2 has no names. */
function withCode(error: Error & { errno?: number; code?: string }): Error {
  if (error.errno === 1969) error.code = 'ER_STATEMENT_TIMEOUT';
  return error;
}

/**
 * The number of rows that an `update` matched, unchanged ones included. `affectedRows` leaves those out when the host's
 * connection is configured without mysql2's flag FOUND_ROWS.
 */
function matchedRows({ affectedRows, info = '' }: Response): number {
  const matched = /^Rows matched: (\d+)/.exec(info)?.[1];
  return matched === undefined ? affectedRows : Number(matched);
}
