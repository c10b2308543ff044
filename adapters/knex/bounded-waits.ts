import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import type { Interruption } from './dialect.ts';
import { CodedError } from './error-kinds.ts';

/** The part of Knex's client that hands out connections. */
export interface ConnectionPool<Connection = unknown> {
  acquireConnection(): Promise<Connection>;
  /** A free connection without a wait; `undefined` when there is none. */
  acquireIfFree?(): Connection | undefined;
  releaseConnection(connection: Connection): Promise<void> | undefined;
  /** There is one connection, so that transactions wait for each other. */
  readonly isSole?: true;
}

/**
 * Acquires a connection, and waits for it for `timeout` milliseconds at most.
 *
 * The pool of a host may wait for a minute. A host that calls Gatehouse from inside its own transaction on SQLite's only
 * connection would wait for ever, because its own transaction has that connection.
 */
export async function acquireConnection<Connection>(
  pool: ConnectionPool<Connection>,
  timeout: Milliseconds,
): Promise<Connection> {
  const acquiring = pool.acquireConnection();
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    tooLate.reject(new CodedError('NO_CONNECTION', 'no connection became free'));
    acquiring.then(
      async (connection) => pool.releaseConnection(connection),
      () => {},
    );
  }, timeout);
  try {
    return await Promise.race([acquiring, tooLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}

// For the server to stop the statement and to report that.
const GRACE: Milliseconds = 1000;
// Between two requests to stop.
const PAUSE: Milliseconds = 100;

/**
 * Waits for work on a server's connection. After `longest` milliseconds the server is asked to stop the statement; after
 * another second the connection is closed, and an error of the kind `no answer` is thrown.
 *
 * A statement that is not stopped would wait for its lock, occupy one of the server's connections, and change its rows long
 * after the caller got an error. An interrupted connection is not used again, because the request to stop may arrive late and
 * would then stop another statement.
 */
export async function interruptAfter<Connection, T>(
  work: Promise<T>,
  connection: Connection,
  {
    longest,
    interruption,
  }: { readonly longest: Milliseconds; readonly interruption: Interruption<Connection> },
): Promise<T> {
  const noAnswer = Promise.withResolvers<never>();
  const progress = { isOver: false, isInterrupted: false };

  async function interrupt(): Promise<void> {
    // The answer may have arrived already while this thread was busy.
    await nextTurn();
    if (progress.isOver) return;
    progress.isInterrupted = true;
    timer = setTimeout(
      () => noAnswer.reject(new CodedError('NO_ANSWER', 'the server did not answer')),
      GRACE,
    );
    // Repeated, because a request that arrives between two statements has no effect.
    for (; !progress.isOver; await delay(PAUSE)) {
      // A server that cannot be reached is left to the timer above.
      await interruption.cancel(connection).catch(() => {});
    }
  }

  let timer = setTimeout(() => void interrupt(), longest);
  try {
    const result = await Promise.race([work, noAnswer.promise]);
    interruption.confirm?.(connection);
    return result;
  } finally {
    progress.isOver = true;
    clearTimeout(timer);
    if (progress.isInterrupted) await interruption.abandon(connection);
  }
}
