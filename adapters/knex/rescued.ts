import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Rescue } from './dialect.ts';

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
