import { toSeconds } from './duration.ts';
import type { Milliseconds, Seconds } from './duration.ts';

/** The current time, in whole seconds. */
export function now(): Seconds {
  return Math.floor(toSeconds(Date.now()));
}

/** The span since a time of `performance.now()`, with fractions. */
export function secondsSince(startedAt: Milliseconds): Seconds {
  return toSeconds(performance.now() - startedAt);
}

/**
 * Reads the state of a storage, and by how many milliseconds its clock is ahead of this machine's. The number is negative when the clock
 * is behind, and 0 where the storage has no clock of its own, or where the time of the read explains the difference.
 */
export async function readState<State extends { readonly clock?: Milliseconds | undefined }>(storage: {
  state(): Promise<State>;
}): Promise<{ readonly state: State; readonly ahead: Milliseconds }> {
  const before = Date.now();
  const state = await storage.state();
  const after = Date.now();
  const { clock = after } = state;
  return { state, ahead: clock > after ? clock - after : Math.min(clock - before, 0) };
}
