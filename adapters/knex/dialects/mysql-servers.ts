import type { Interruption } from '../dialect.ts';
import { codeOf, CodedError } from '../error-kinds.ts';
import type { Statements } from '../../../lib/database/statements.ts';

/** The part of mysql2's connection that is used here. */
export interface MysqlConnection {
  /** What the server, or a proxy before it, has sent as the connection's id. */
  readonly threadId: number | null;
  query(
    statement: { readonly sql: string; readonly typeCast: true },
    callback: (error: Error | null, response: Response) => void,
  ): unknown;
  end(): unknown;
  destroy(): void;
}

/** Rows, or the header of a statement that returns none. */
export type Response = never[] & Header;

interface Header {
  readonly affectedRows: number;
  /** The server's message about an `update`, such as `Rows matched: 1  Changed: 0  Warnings: 0`. */
  readonly info?: string;
}

/** The part of Knex's client for mysql2 that is used here. */
export interface MysqlClient {
  readonly config: { readonly connectionPool?: unknown };
  /** Opens a connection outside of the pool. */
  acquireRawConnection(): Promise<MysqlConnection>;
  destroyRawConnection(connection: MysqlConnection): Promise<unknown>;
}

/** Which server connections have reached, and the way to stop a statement on just that server. */
interface MysqlServers extends Interruption<MysqlConnection> {
  /** Asks the server who it is, once. @throws an error of the kind `read only` for a server that only allows reads */
  identify(connection: MysqlConnection): Promise<KnownServer>;
  requireWritable(statements: Statements): Promise<void>;
}

interface KnownServer {
  /** `undefined` for a server that cannot be recognized. */
  readonly name: string | undefined;
  readonly hasCompoundStatements: boolean;
}

/**
 * A name or a load balancer may lead to several servers: a read-only replica among them, and members of a Galera cluster, each
 * of which counts its connections from 1. `kill query` names nothing but such a number, and would stop a statement of another
 * application on another member. So it is sent only on a connection to the server that runs the statement.
 */
export function mysqlServers(client: MysqlClient): MysqlServers {
  const known = new WeakMap<MysqlConnection, KnownServer>();

  return {
    async identify(connection) {
      const before = known.get(connection);
      if (before) return before;
      const identity = await requireWritable(ask(connection));
      // A proxy that counts connections itself may send each statement on another connection to another server.
      const isServers = Number(identity?.id) === connection.threadId;
      const server = {
        name: isServers ? identity?.server : undefined,
        hasCompoundStatements: Number(identity?.compounds) === 1,
      };
      known.set(connection, server);
      return server;
    },
    async requireWritable({ get }) {
      await requireWritable(get<ServerIdentity>(IDENTIFY).then((identity) => identity!));
    },
    async cancel(connection) {
      const server = known.get(connection)?.name;
      // For a pool that the host created with the driver itself, Knex does not know the server's address.
      if (server === undefined || client.config.connectionPool !== undefined) return;
      const other = await client.acquireRawConnection();
      try {
        if ((await ask(other)).server !== server) return;
        await send(other, `kill query ${connection.threadId}`);
      } finally {
        await client.destroyRawConnection(other);
      }
    },
    async abandon(connection) {
      connection.destroy();
    },
  };
}

async function ask(connection: MysqlConnection): Promise<ServerIdentity> {
  const [identity] = await send(connection, IDENTIFY);
  return identity!;
}

async function requireWritable(asking: Promise<ServerIdentity>): Promise<ServerIdentity | undefined> {
  const identity = await unlessUnknown(asking);
  // `read_only` is a number in some versions and a word in others.
  if (!identity || /^(0|OFF) (0|OFF)$/.test(identity.read_only)) return identity;
  throw new CodedError('ER_OPTION_PREVENTS_STATEMENT', 'the server only allows reads');
}

export async function send(connection: MysqlConnection, sql: string): Promise<Response> {
  return new Promise((resolve, reject) => {
    // mysql2's own values: the function `typeCast` of a host may make a flag a boolean, and no client would be disabled then.
    connection.query({ sql, typeCast: true }, (error, response) =>
      error ? reject(error) : resolve(response),
    );
  });
}

/** Vitess, which speaks for several servers, has no such variables. */
export async function unlessUnknown<T>(asking: Promise<T>): Promise<T | undefined> {
  try {
    return await asking;
  } catch (error) {
    if (codeOf(error) !== 'ER_UNKNOWN_SYSTEM_VARIABLE') throw error;
    return undefined;
  }
}

interface ServerIdentity {
  readonly id: number | string;
  readonly server: string;
  readonly read_only: string;
  readonly compounds: number | string;
}

// Only MariaDB reads its kind of comment.
const IDENTIFY = `
  select connection_id() as id, concat_ws(' ', @@hostname, @@port, @@server_id, @@datadir) as server,
    concat_ws(' ', @@global.read_only, @@innodb_read_only) as read_only,
    0 /*M!100101 + 1 */ as compounds`;
