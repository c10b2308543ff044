/** The part of Knex's client that lends connections. */
export interface ConnectionPool<Connection = unknown> {
  acquireConnection(): Promise<Connection>;
  /** Lends one without a wait, if that can be done. */
  acquireIfFree?(): Connection | undefined;
  releaseConnection(connection: Connection): Promise<void>;
}

class AcquireTimeoutError extends Error {}

/** Whether no connection of the pool became free in time. Knex's pool has a time of its own. */
export function isAcquireTimeout(error: unknown): boolean {
  return (
    error instanceof AcquireTimeoutError || (error instanceof Error && error.name === 'KnexTimeoutError')
  );
}

/**
 * Borrows a connection, for at most so many milliseconds of waiting.
 *
 * A host's pool may wait for a minute, and waits for ever on a connection that is held by the one who asks: a host that
 * calls Gatehouse from inside a transaction of its own, on SQLite's only connection.
 */
export async function acquireConnection<Connection>(
  pool: ConnectionPool<Connection>,
  timeout: number,
): Promise<Connection> {
  const acquiring = pool.acquireConnection();
  return new Promise((resolve, reject) => {
    let tooLate = false;
    const timer = setTimeout(() => {
      tooLate = true;
      reject(new AcquireTimeoutError());
    }, timeout);
    acquiring.then(
      (connection) => {
        if (tooLate) return pool.releaseConnection(connection);
        clearTimeout(timer);
        return resolve(connection);
      },
      (error: unknown) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
