import type { SqlResult, SqlConnection } from '../port.ts';
import type { Statements, Value } from '../statements.ts';

/** Sends a statement of this package by the port, in the form that the database wants. */
export type Send = (connection: SqlConnection, sql: string, values: readonly Value[]) => Promise<SqlResult>;

/** The statements of a connection. */
export function statementsBy(send: Send): (connection: SqlConnection) => Statements {
  return (connection) => {
    async function query(
      sql: string,
      values: readonly Value[] = [],
    ): Promise<{ rows: never[]; changes: number }> {
      try {
        return (await send(connection, sql, values)) as { rows: never[]; changes: number };
      } catch (error) {
        throw error instanceof Error ? withoutValues(error, sql) : error;
      }
    }

    return {
      get: async (sql, values) => (await query(sql, values)).rows[0],
      all: async (sql, values) => (await query(sql, values)).rows,
      run: async (sql, values) => (await query(sql, values)).changes,
    };
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
