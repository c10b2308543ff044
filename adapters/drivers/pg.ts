import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';
import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import { CodedError } from '../../lib/database/error-kinds.ts';
import type { ListeningConnection, SqlConnection, SqlDatabase } from '../../lib/database/port.ts';
import type { Value } from '../../lib/database/statements.ts';

/** The part of pg's `Client` that is used here; the package comes without types. */
export interface PgClient {
  readonly host: string;
  readonly port: number;
  /** What the server, or a pooler before it, has sent for requests to cancel. */
  readonly processID: number | null;
  readonly secretKey: number | null;
  readonly connection: ProtocolConnection;
  on(event: 'notice', listener: (notice: { readonly routine?: string }) => void): unknown;
  on(event: 'error', listener: () => void): unknown;
  query(statement: {
    readonly text: string;
    readonly values?: readonly Value[];
    readonly name?: string;
  }): Promise<{ readonly rows: never[]; readonly rowCount: number | null }>;
  /** Absent before pg 8.19. */
  getTransactionStatus?(): string | null;
  end(): Promise<void>;
}

/** pg's `Connection`: the messages of the protocol. */
interface ProtocolConnection extends EventEmitter {
  readonly stream: Socket;
  connect(port: number, host: string): void;
  connect(path: string): void;
  cancel(processID: number, secretKey: number): void;
}

/** Clients that have been seen, and whether a commit on them did not wait for its standby. */
const notReplicated = new WeakMap<PgClient, boolean>();

/** The part of a `Pool` of pg that is used here. */
interface PgPool {
  connect(): Promise<PgClient & { release(isBroken: boolean): void }>;
  readonly Client: new (
    options: object,
  ) => ListeningConnection & Pick<PgClient, 'on'> & { connect(): Promise<void> };
  readonly options: object;
  readonly ended: boolean;
}

/** PostgreSQL by a pool of pg, which stays open when the storage is closed. */
export function pgDatabase(pool: PgPool): SqlDatabase {
  return {
    dialect: 'postgresql',
    async connect() {
      const client = await pool.connect();
      return pgConnection(client, (isBroken) => {
        // The pool would wait for the server's answer to a goodbye.
        if (isBroken) client.connection.stream.destroy();
        client.release(isBroken);
      });
    },
    async listen() {
      if (pool.ended) return undefined;
      const client = new pool.Client(pool.options);
      // The event `end` follows, and that one is handled. An `error` that nobody listens for ends the process.
      client.on('error', () => {});
      await client.connect();
      return client;
    },
    async close() {},
  };
}

/** A client of pg. */
export function pgConnection(client: PgClient, release: SqlConnection['release']): SqlConnection {
  watchReplication(client);
  return {
    native: client,
    async query(text, values, name) {
      const { rows, rowCount } = await client.query(
        values.length === 0 ? { text } : { text, values, ...(name !== undefined && { name }) },
      );
      return { rows, changes: rowCount ?? 0 };
    },
    release,
    // "I": idle, as the server has said after the last statement.
    inTransaction: () => client.getTransactionStatus?.() !== 'I',
    cancel: async () => requestCancel(client),
    confirm() {
      if (!notReplicated.get(client)) return;
      notReplicated.set(client, false);
      throw new CodedError('NOT_REPLICATED', 'the wait for the synchronous standby was cancelled');
    },
  };
}

/** Closes a client without waiting for the server. Its pool learns of it by an event that pg emits a little later. */
export async function closePg(client: PgClient): Promise<void> {
  const { stream } = client.connection;
  const closed = stream.destroyed ? undefined : once(stream, 'close');
  void client.end();
  stream.destroy();
  await closed;
  await nextTurn();
}

/**
 * Watches for the warning that a commit did not wait for its synchronous standby, because the wait was cancelled: by the
 * timeout of this storage or by an administrator. The commit itself succeeds, and is lost when the standby takes over.
 */
function watchReplication(client: PgClient): void {
  const isNew = !notReplicated.has(client);
  // An earlier warning may have been about a transaction of the host.
  notReplicated.set(client, false);
  if (!isNew) return;
  // The statement under way rejects with the error. An `error` that nobody listens for ends the process, and the pool listens to idle
  // clients only.
  client.on('error', () => {});
  client.on('notice', ({ routine }) => {
    // The name of the function in the server's source is the same in all versions. The text depends on the server's language,
    // and its code 01000 is that of every warning.
    if (routine === 'SyncRepWaitForLSN') notReplicated.set(client, true);
  });
}

// The time that the server gets to close the connection of a request.
const CANCEL_TIMEOUT: Milliseconds = 1000;

/**
 * Sends a CancelRequest on a connection of its own (PostgreSQL's protocol, "Canceling Requests in Progress"), which poolers such as
 * PgBouncer pass on to the server that they use. The server closes that connection when it has stopped the statement, and says
 * nothing else.
 *
 * Without TLS, as libpq before version 17: a server reads this request also where everything else needs TLS, and the secret key
 * is of use for nothing but this connection, which is closed afterwards.
 */
async function requestCancel({ connection, host, port, processID, secretKey }: PgClient): Promise<void> {
  if (processID === null || secretKey === null) return;
  const request = new (connection.constructor as new () => ProtocolConnection)();
  const closed = once(request, 'end', { signal: AbortSignal.timeout(CANCEL_TIMEOUT) });
  // The connection is not ended after the request: PgBouncer drops a request that it has not passed on when its connection ends.
  request.on('connect', () => request.cancel(processID, secretKey));
  // The address of the connection itself, because the name may stand for several servers.
  const { remoteAddress, remotePort } = connection.stream;
  if (remoteAddress === undefined || remotePort === undefined) request.connect(`${host}/.s.PGSQL.${port}`);
  else request.connect(remotePort, remoteAddress);
  try {
    await closed;
  } finally {
    request.stream.destroy();
  }
}
