import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Rescue } from './dialect.ts';

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

// In milliseconds: for the server to stop, and for its answer to come back.
const GRACE = 1000;
// In milliseconds.
const PAUSE = 100;

/** A server said nothing for too long. Whether a change that it was told to make is made is not known. */
export class NoAnswerError extends Error {}

/**
 * Waits for work on a server's connection, for so many milliseconds and a little more.
 *
 * Then the server is asked to stop the statement. Left alone it would wait for its lock, hold one of the server's
 * connections meanwhile, and change its rows long after the caller was told that it failed. A server that does not even
 * do that loses the connection. An interrupted connection is never used again, so that the request to stop hits nothing else.
 */
export async function rescued<Connection, T>(
  work: Promise<T>,
  connection: Connection,
  { longest, rescue }: { readonly longest: number; readonly rescue: Rescue<Connection> },
): Promise<T> {
  const noAnswer = Promise.withResolvers<never>();
  const progress = { isOver: false, isInterrupted: false };

  async function interrupt(): Promise<void> {
    // The answer may be there already, and something else has kept this thread busy.
    await nextTurn();
    if (progress.isOver) return;
    progress.isInterrupted = true;
    timer = setTimeout(() => noAnswer.reject(new NoAnswerError()), GRACE);
    // Again and again, because it has no effect between two statements.
    for (; !progress.isOver; await delay(PAUSE)) {
      // Nor when the server cannot be reached; the time goes on.
      await rescue.cancel(connection).catch(() => {});
    }
  }

  let timer = setTimeout(() => void interrupt(), longest);
  try {
    return await Promise.race([work, noAnswer.promise]);
  } finally {
    progress.isOver = true;
    clearTimeout(timer);
    if (progress.isInterrupted) rescue.abandon(connection);
  }
}
