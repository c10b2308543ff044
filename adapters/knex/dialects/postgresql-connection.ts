import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { NotReplicatedError } from '../bounded-waits.ts';
import type { Interruption } from '../dialect.ts';
import type { ServerConnection } from './server-statements.ts';

/** The part of pg's `Client` that is used here; the package comes without types. */
export interface PostgresqlConnection extends ServerConnection {
  readonly host: string;
  readonly port: number;
  /** What the server, or a pooler before it, has sent for requests to cancel. */
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: { readonly stream: Socket };
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  end(): unknown;
}

/** The server of a connection only allows reads. */
export class ReadOnlyError extends Error {
  /** read_only_sql_transaction, as of a statement that writes there. */
  readonly code = '25006';

  constructor() {
    super('the server only allows reads');
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
export const postgresqlInterruption: Interruption<PostgresqlConnection> = {
  cancel: requestCancel,
  abandon(connection) {
    connection.__knex__disposed = new Error('closed, because the server did not answer');
    connection.end();
  },
  confirm(connection) {
    if (notReplicated.delete(connection)) throw new NotReplicatedError();
  },
};

// In milliseconds, for the server to close the connection of a request.
const CANCEL_TIMEOUT = 1000;

// PostgreSQL's protocol, "Message Formats": 1234 and 5678 in the place of a version.
const CANCEL_CODE = (1234 << 16) | 5678;

/**
 * Sends a CancelRequest on a connection of its own (PostgreSQL's protocol, "Canceling Requests in Progress"). The server closes
 * that connection when it has stopped the statement, and says nothing else.
 *
 * Without TLS, as libpq before version 17: a server reads this request also where everything else needs TLS, and the secret key
 * is of use for nothing but this connection, which is closed afterwards.
 */
async function requestCancel({
  connection: { stream },
  host,
  port,
  processID,
  secretKey,
}: PostgresqlConnection): Promise<void> {
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return;
  const request = Buffer.alloc(16);
  [request.length, CANCEL_CODE, processID, secretKey].forEach((word, index) =>
    request.writeInt32BE(word, index * 4),
  );
  // The address of the connection itself, because the name may stand for several servers.
  const { remoteAddress, remotePort } = stream;
  const socket =
    remoteAddress === undefined || remotePort === undefined
      ? connect(`${host}/.s.PGSQL.${port}`)
      : connect(remotePort, remoteAddress);
  socket.setTimeout(CANCEL_TIMEOUT, () => socket.destroy());
  socket.resume();
  // Not ended here: PgBouncer drops the request of a connection that ends before it was passed on.
  socket.write(request);
  await once(socket, 'close');
}
