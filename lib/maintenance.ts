import type { Logger } from './contracts.ts';

/** Work that a server does from time to time. */
export interface Chore {
  readonly name: string;
  /** In seconds; 0: never. */
  readonly every: number;
  /** @param signal - aborted when the server stops: what is long ends early */
  readonly run: (signal: AbortSignal) => Promise<unknown>;
}

// The longest that a timer can wait, in milliseconds.
const LONGEST_WAIT = 2 ** 31 - 1;

/**
 * Does chores until it is stopped. A chore that fails is logged and tried again at its next time; one that takes longer
 * than its interval is not begun twice. The timers keep no process alive.
 *
 * @returns a function that stops, and resolves when the chores under way have ended
 */
export function startMaintenance(chores: readonly Chore[], logger: Logger): () => Promise<void> {
  const stopping = new AbortController();
  const underway = new Map<string, Promise<unknown>>();
  const timers = chores
    .filter(({ every }) => every > 0)
    .map((chore) => setInterval(() => begin(chore), Math.min(chore.every * 1000, LONGEST_WAIT)).unref());

  function begin({ name, run }: Chore): void {
    if (underway.has(name)) return;
    const work = run(stopping.signal)
      .catch((error: unknown) => logger.warn({ err: error, chore: name }, 'maintenance failed'))
      .finally(() => underway.delete(name));
    underway.set(name, work);
  }

  return async function stop() {
    stopping.abort();
    for (const timer of timers) clearInterval(timer);
    // A chore may wait for a timer that keeps no process alive; who stops wants to see its end.
    const alive = setInterval(() => {}, LONGEST_WAIT);
    await Promise.all(underway.values());
    clearInterval(alive);
  };
}
