import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Milliseconds } from '../../../lib/contracts/duration.ts';
import type { Interruption } from '../dialect.ts';
import { CodedError } from '../error-kinds.ts';
import type { Value } from '../../../lib/database/statements.ts';

/** The part of pg's `Client` that is used here; the package comes without types. */
export interface PostgresqlConnection {
  readonly host: string;
  readonly port: number;
  /** What the server, or a pooler before it, has sent for requests to cancel. */
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: { readonly stream: Socket };
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  query(statement: {
    readonly text: string;
    readonly values?: readonly Value[];
    readonly name?: string;
  }): Promise<{ readonly rows: never[]; readonly rowCount: number | null }>;
  end(): Promise<void>;
}

/** The part of Knex's client for pg that is used here: the package itself. */
export interface PostgresqlClient {
  readonly driver: { readonly Connection: new () => ProtocolConnection };
}

/** pg's `Connection`: the messages of the protocol. */
interface ProtocolConnection extends EventEmitter {
  readonly stream: Socket;
  connect(port: number, host: string): void;
  connect(path: string): void;
  cancel(processID: number, secretKey: number): void;
}

/** The server of a connection only allows reads. */
export class ReadOnlyError extends CodedError {
  constructor() {
    // read_only_sql_transaction, as of a statement that writes there.
    super('25006', 'the server only allows reads');
  }
}

const watched = new WeakSet<PostgresqlConnection>();
const notReplicated = new WeakSet<PostgresqlConnection>();

/**
 * Watches for the warning that a commit did not wait for its synchronous standby, because the wait was cancelled: by the
 * timeout of this storage or by an administrator. The commit itself succeeds, and is lost when the standby takes over.
 */
export function watchReplication(connection: PostgresqlConnection): void {
  // It may have been said of a transaction of the host.
  notReplicated.delete(connection);
  if (watched.has(connection)) return;
  watched.add(connection);
  connection.on('notice', ({ routine }) => {
    // The name of the function in the server's source is the same in all versions. The text depends on the server's language,
    // and its code 01000 is that of every warning.
    if (routine === 'SyncRepWaitForLSN') notReplicated.add(connection);
  });
}

/** Ends statements by the protocol's own request, which poolers such as PgBouncer pass on to the server that they use. */
export function postgresqlInterruption({ driver }: PostgresqlClient): Interruption<PostgresqlConnection> {
  return {
    cancel: async (connection) => requestCancel(new driver.Connection(), connection),
    async abandon(connection) {
      const { stream } = connection.connection;
      const closed = stream.destroyed
        ? undefined
        : new Promise((resolve) => {
            stream.once('close', resolve);
          });
      void connection.end();
      stream.destroy();
      await closed;
      // Knex's pool learns of it by an event that pg emits a little later.
      await nextTurn();
    },
    confirm(connection) {
      if (!notReplicated.delete(connection)) return;
      throw new CodedError('NOT_REPLICATED', 'the wait for the synchronous standby was cancelled');
    },
  };
}

// For the server to close the connection of a request.
const CANCEL_TIMEOUT: Milliseconds = 1000;

/**
 * Sends a CancelRequest on a connection of its own (PostgreSQL's protocol, "Canceling Requests in Progress"). The server closes
 * that connection when it has stopped the statement, and says nothing else.
 *
 * Without TLS, as libpq before version 17: a server reads this request also where everything else needs TLS, and the secret key
 * is of use for nothing but this connection, which is closed afterwards.
 */
async function requestCancel(
  request: ProtocolConnection,
  { connection: { stream }, host, port, processID, secretKey }: PostgresqlConnection,
): Promise<void> {
  if (processID === null || secretKey === null) return;
  const closed = once(request, 'end', { signal: AbortSignal.timeout(CANCEL_TIMEOUT) });
  // Not ended after it: PgBouncer drops the request of a connection that ends before it was passed on.
  request.on('connect', () => request.cancel(processID, secretKey));
  // The address of the connection itself, because the name may stand for several servers.
  const { remoteAddress, remotePort } = stream;
  if (remoteAddress === undefined || remotePort === undefined) request.connect(`${host}/.s.PGSQL.${port}`);
  else request.connect(remotePort, remoteAddress);
  try {
    await closed;
  } finally {
    request.stream.destroy();
  }
}
