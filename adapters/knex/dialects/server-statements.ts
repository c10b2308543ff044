import type { Statements, Value } from '../statements.ts';

/** The part of Knex's client that sends statements to a server. */
export interface ServerClient<Response> {
  readonly config: { readonly connectionPool?: unknown };
  /** Replaces each `?` by the placeholder of the database. */
  positionBindings(sql: string): string;
  /**
   * Knex's internal function for one statement. Its public functions put bound values into error messages, which are logged,
   * and pass rows through the host's `postProcessResponse`; neither may happen to credentials.
   */
  _query(
    connection: unknown,
    query: { sql: string; bindings: readonly Value[]; options?: { readonly name: string } },
  ): Promise<{ response: Response }>;
}

/** A connection to a server. Knex's pool does not hand it out again when `__knex__disposed` is set. */
export interface ServerConnection {
  __knex__disposed?: unknown;
}

/** How a driver sends one statement, and how its response is read. */
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

/** Ends a failed transaction. If the rollback fails, the pool discards the connection, and the server rolls back. */
export async function rollbackOrDispose(statements: Statements, connection: ServerConnection): Promise<void> {
  try {
    await statements.run('rollback');
  } catch (error) {
    connection.__knex__disposed = error;
  }
}
