import type { Statements, Value } from '../statements.ts';

/** The part of Knex's client that talks to a connection. */
export interface ServerClient<Response> {
  /** Puts the dialect's own placeholders in the place of `?`. */
  positionBindings(sql: string): string;
  /**
   * Knex's primitive for one statement. The public ways put the bound values into the message of an error and pass the
   * rows through the host's `postProcessResponse`; neither may happen to what this storage keeps.
   */
  _query(
    connection: unknown,
    query: { sql: string; bindings: readonly Value[] },
  ): Promise<{ response: Response }>;
}

/** Reads what a driver answers. */
export interface ResponseReader<Response> {
  rows(response: Response): never[];
  changes(response: Response): number;
}

/** Statements on one connection to a database server. */
export function serverStatements<Response>(
  client: ServerClient<Response>,
  connection: unknown,
  read: ResponseReader<Response>,
): Statements {
  async function query(sql: string, values: readonly Value[] = []): Promise<Response> {
    try {
      const { response } = await client._query(connection, {
        sql: client.positionBindings(sql),
        bindings: values,
      });
      return response;
    } catch (error) {
      // mysql2 tells the statement with the values in it, and errors are logged.
      if (error instanceof Error && 'sql' in error) error.sql = sql;
      throw error;
    }
  }

  return {
    async get<Row>(sql: string, values?: readonly Value[]): Promise<Row | undefined> {
      return read.rows(await query(sql, values))[0];
    },
    async all<Row>(sql: string, values?: readonly Value[]): Promise<Row[]> {
      return read.rows(await query(sql, values));
    },
    async run(sql: string, values?: readonly Value[]): Promise<number> {
      return read.changes(await query(sql, values));
    },
  };
}

/** A connection to a server. Knex's pool throws it away when `__knex__disposed` is set. */
export interface ServerConnection {
  __knex__disposed?: unknown;
}

/** Ends a failed transaction. A connection that cannot even do that is given up, and its server rolls back. */
export async function rollbackOrDispose(statements: Statements, connection: ServerConnection): Promise<void> {
  try {
    await statements.run('rollback');
  } catch (error) {
    connection.__knex__disposed = error;
  }
}
