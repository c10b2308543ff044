import type { Rescue } from '../dialect.ts';
import type { Statements, Value } from '../statements.ts';

/** The part of Knex's client that talks to a server. */
export interface ServerClient<Response> {
  readonly config: { readonly connectionPool?: unknown };
  /** Puts the dialect's own placeholders in the place of `?`. */
  positionBindings(sql: string): string;
  /**
   * Knex's primitive for one statement. The public ways put the bound values into the message of an error and pass the
   * rows through the host's `postProcessResponse`; neither may happen to what this storage keeps.
   */
  _query(
    connection: unknown,
    query: { sql: string; bindings: readonly Value[]; options?: { readonly name: string } },
  ): Promise<{ response: Response }>;
  /** Stops what a connection is doing, on a new connection. */
  cancelQuery(connection: unknown): Promise<unknown>;
}

/** A connection to a server. Knex's pool throws it away when `__knex__disposed` is set. */
export interface ServerConnection {
  __knex__disposed?: unknown;
}

/** How one statement is sent over a connection, and how the answer is read. */
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
 * Takes out of a driver's error what it tells of rows, because errors are logged: mysql2 has the statement with its values,
 * MariaDB the key of the row that is there already, PostgreSQL that and whole rows.
 */
function withoutValues(error: Error & { sql?: unknown; sqlMessage?: unknown }, sql: string): Error {
  if ('sql' in error) error.sql = sql;
  for (const name of ['detail', 'where', 'internalQuery']) Reflect.deleteProperty(error, name);
  if (typeof error.sqlMessage === 'string') {
    const told = error.message;
    const kept = told.replace(/(entry|value:) '.*' for /s, '$1 for ');
    error.sqlMessage = kept;
    error.message = kept;
    if (error.stack !== undefined) error.stack = error.stack.replace(told, () => kept);
  }
  return error;
}

/** Ends a failed transaction. A connection that cannot even do that is given up, and its server rolls back. */
export async function rollbackOrDispose(statements: Statements, connection: ServerConnection): Promise<void> {
  try {
    await statements.run('rollback');
  } catch (error) {
    connection.__knex__disposed = error;
  }
}

/** @param end - closes a connection without waiting for its statement */
export function serverRescue<Connection extends ServerConnection>(
  client: ServerClient<unknown>,
  end: (connection: Connection) => void,
): Rescue<Connection> {
  return {
    async cancel(connection) {
      // Of a pool that a host made with the driver, Knex does not know where it connects to.
      if (client.config.connectionPool === undefined) await client.cancelQuery(connection);
    },
    abandon(connection) {
      connection.__knex__disposed = new Error('closed, because the server did not answer');
      end(connection);
    },
  };
}
