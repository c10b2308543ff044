import type { Dialect, Interruption } from '../dialect.ts';
import type { Statements, Value } from '../../../lib/database/statements.ts';

/**
 * Sends one statement by the driver. Not by Knex, which puts bound values into error messages, which are logged, and passes rows
 * through the host's `postProcessResponse`; neither may happen to credentials.
 */
export type Send<Connection> = (
  connection: Connection,
  sql: string,
  values: readonly Value[],
) => Promise<{ readonly rows: never[]; readonly changes: number }>;

/** How statements reach a database server. */
export function serverStatements<Connection>(
  send: Send<Connection>,
  interruption: Interruption<Connection>,
): Required<Pick<Dialect<Connection>, 'begin' | 'forUpdate' | 'enter' | 'rollback' | 'interruption'>> {
  function enter(connection: Connection): Statements {
    async function query(sql: string, values: readonly Value[] = []): ReturnType<Send<Connection>> {
      try {
        return await send(connection, sql, values);
      } catch (error) {
        throw error instanceof Error ? withoutValues(error, sql) : error;
      }
    }

    return {
      get: async (sql, values) => (await query(sql, values)).rows[0],
      all: async (sql, values) => (await query(sql, values)).rows,
      run: async (sql, values) => (await query(sql, values)).changes,
    };
  }

  return {
    begin: 'begin',
    forUpdate: ' for update',
    enter,
    async rollback(connection) {
      // If this fails, the server rolls back.
      await enter(connection)
        .run('rollback')
        .catch(async () => interruption.abandon(connection));
    },
    interruption,
  };
}

/**
 * Removes values of rows from a driver's error, because errors are logged: mysql2 adds the statement with its values,
 * MariaDB the key of an existing row, PostgreSQL such keys and whole rows.
 */
function withoutValues(error: Error & { sql?: unknown; sqlMessage?: unknown }, sql: string): Error {
  if ('sql' in error) error.sql = sql;
  for (const name of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, name);
  if (typeof error.sqlMessage === 'string') {
    const original = error.message;
    const message = original.replace(/(entry|value:) '.*' for /s, '$1 for ');
    error.sqlMessage = message;
    error.message = message;
    if (error.stack !== undefined) error.stack = error.stack.replace(original, () => message);
  }
  return error;
}
