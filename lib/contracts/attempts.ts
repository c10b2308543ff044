import type { Seconds } from './duration.ts';

/** A counter of attempts. Its id is a keyed hash, so that a row does not reveal the account or the address. */
export interface AttemptCounter {
  readonly id: string;
  /** How many attempts may be counted in a window. At least 1. */
  readonly limit: number;
}

/** A window of time. */
export interface AttemptWindow {
  readonly now: Seconds;
  /** The end of the window that this attempt opens. A window that is open already keeps its own end. */
  readonly expiresAt: Seconds;
}

/** What {@link AttemptStore.count} has done. */
export type CountedAttempt =
  /** The attempt is counted. `sequence` is the number of the latest end at this moment (`revocations.latestSequence()`). */
  | { readonly full: undefined; readonly sequence: number }
  /** The attempt is not counted, because the limit of this counter is reached until `expiresAt`. */
  | { readonly full: { readonly id: string; readonly expiresAt: Seconds } };

/** What {@link AttemptStore.reserve} has counted. */
export interface ReservedAttempts {
  /** How many attempts were counted; 0 when none was left. */
  readonly reserved: number;
  /** How many attempts are left in the window. */
  readonly left: number;
  /** When the window ends. */
  readonly expiresAt: Seconds;
}

/** Counts attempts to authenticate, and requests to an API: the `attempts` of a {@link Storage}. */
export interface AttemptStore {
  /**
   * Counts an attempt in each of several counters, or in none when one of them is full. Concurrent callers on any number of nodes
   * never count more than the limit of a counter until its window ends.
   *
   * @param counters - one or more, with different ids
   */
  count(counters: readonly AttemptCounter[], window: AttemptWindow): Promise<CountedAttempt>;
  /**
   * Counts several attempts at once: `amount`, or as many as are left. Concurrent callers on any number of nodes never reserve more than
   * the limit in total until the window ends.
   *
   * @param window - its `amount` is at least 1
   */
  reserve(
    counter: AttemptCounter,
    window: AttemptWindow & { readonly amount: number },
  ): Promise<ReservedAttempts>;
  /** Uncounts one attempt in each of the counters `ids`, and all attempts in the counters `reset`. */
  release(ids: readonly string[], reset?: readonly string[]): Promise<void>;
}
