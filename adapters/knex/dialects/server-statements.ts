import type { Interruption } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';

/**
 * How a driver sends one statement, and how its response is read. Not by Knex, which puts bound values into error messages, which
 * are logged, and passes rows through the host's `postProcessResponse`; neither may happen to credentials.
 */
export interface Wire<Connection, Response> {
  send(connection: Connection, sql: string, values: readonly Value[]): Promise<Response>;
  rows(response: Response): never[];
  changes(response: Response): number;
}

/** Statements on one connection to a database server. */
export function serverStatements<Connection, Response>(
  wire: Wire<Connection, Response>,
  connection: Connection,
): Statements {
  async function query(sql: string, values: readonly Value[] = []): Promise<Response> {
    try {
      return await wire.send(connection, sql, values);
    } catch (error) {
      throw error instanceof Error ? withoutValues(error, sql) : error;
    }
  }

  return {
    async get<Row>(sql: string, values?: readonly Value[]): Promise<Row | undefined> {
      return wire.rows(await query(sql, values))[0];
    },
    async all<Row>(sql: string, values?: readonly Value[]): Promise<Row[]> {
      return wire.rows(await query(sql, values));
    },
    async run(sql: string, values?: readonly Value[]): Promise<number> {
      return wire.changes(await query(sql, values));
    },
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

/** Ends a failed transaction. If the rollback fails, the connection is closed, and the server rolls back. */
export async function rollbackOrAbandon<Connection>(
  statements: Statements,
  connection: Connection,
  { abandon }: Pick<Interruption<Connection>, 'abandon'>,
): Promise<void> {
  await statements.run('rollback').catch(async () => abandon(connection));
}
