import { setImmediate as nextTurn } from 'node:timers/promises';

/** In milliseconds. */
const TURN = 10;

/**
 * Makes a function to wait for between the items of a bulk. Now and then it lets other requests have their turn: a
 * database that answers at once, as SQLite does, would keep the thread until the last item.
 */
export function takeTurns(): () => Promise<void> {
  let startedAt = performance.now();
  return async function mayWait() {
    if (performance.now() - startedAt < TURN) return;
    await nextTurn();
    startedAt = performance.now();
  };
}
