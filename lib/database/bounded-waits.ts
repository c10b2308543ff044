import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Milliseconds } from '../contracts/duration.ts';
import { CodedError } from './error-kinds.ts';
import type { SqlConnection } from './port.ts';

/**
 * Waits for a connection for `timeout` milliseconds at most; one that comes later is given back.
 *
 * The pool of a host may wait for a minute. A host that calls Gatehouse from inside its own transaction on SQLite's only
 * connection would wait for ever, because its own transaction has that connection.
 */
export async function connectWithin<T extends { release(isBroken: boolean): unknown }>(
  connecting: Promise<T>,
  timeout: Milliseconds,
): Promise<T> {
  const tooLate = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    tooLate.reject(new CodedError('NO_CONNECTION', 'no connection became free'));
    connecting.then(
      async (connection) => connection.release(false),
      () => {},
    );
  }, timeout);
  try {
    return await Promise.race([connecting, tooLate.promise]);
  } finally {
    clearTimeout(timer);
  }
}

// The time that the server gets to stop the statement and to report it.
const GRACE: Milliseconds = 1000;
// The pause between two requests to stop.
const PAUSE: Milliseconds = 100;

/**
 * Waits for work on a server's connection. After `longest` milliseconds the server is asked to stop the statement, where the
 * connection can do that; after another second an error of the kind `no answer` is thrown.
 *
 * A statement that is not stopped would wait for its lock, occupy one of the server's connections, and change its rows long
 * after the caller got an error.
 *
 * @param onInterrupt - called when the work takes too long: the connection is not used again, because a request to stop may
 * arrive late and would then stop another statement
 */
export async function interruptAfter<T>(
  work: Promise<T>,
  connection: SqlConnection,
  { longest, onInterrupt }: { readonly longest: Milliseconds; readonly onInterrupt: () => void },
): Promise<T> {
  const noAnswer = Promise.withResolvers<never>();
  const progress = { isOver: false };

  async function interrupt(): Promise<void> {
    // The answer may have arrived already while this thread was busy.
    await nextTurn();
    if (progress.isOver) return;
    onInterrupt();
    timer = setTimeout(
      () => noAnswer.reject(new CodedError('NO_ANSWER', 'the server did not answer')),
      GRACE,
    );
    // Repeated, because a request that arrives between two statements has no effect.
    for (; !progress.isOver && connection.cancel; await delay(PAUSE)) {
      // A server that cannot be reached is left to the timer above.
      await connection.cancel().catch(() => {});
    }
  }

  let timer = setTimeout(() => void interrupt(), longest);
  try {
    const result = await Promise.race([work, noAnswer.promise]);
    connection.confirm?.();
    return result;
  } finally {
    progress.isOver = true;
    clearTimeout(timer);
  }
}
