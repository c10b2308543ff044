/** A limit of attempts in a window of time. Times are in seconds since 1970. */
export interface AttemptWindow {
  /** At least 1. */
  readonly limit: number;
  readonly now: number;
  /** When a window ends that this attempt opens. An open window keeps its own end. */
  readonly expiresAt: number;
}

/** What {@link AttemptStore.take} has counted. */
export interface TakenAttempts {
  /** How many attempts were counted: 0 when none is left. */
  readonly taken: number;
  /** How many are left in the window. */
  readonly left: number;
  /** When the window ends, in seconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Counts attempts to authenticate, and requests to an API: the `attempts` of a {@link Storage}. The ids are keyed hashes, so
 * that a row does not reveal the account or the address.
 */
export interface AttemptStore {
  /**
   * Counts one attempt, unless `limit` of them are counted already. Concurrent callers on any number of nodes never count more
   * than `limit` in total until the window ends, which is at its `expiresAt`.
   *
   * @returns `undefined` when the attempt is counted; else the end of the window, in seconds since 1970
   */
  count(id: string, window: AttemptWindow): Promise<number | undefined>;
  /**
   * Counts several attempts at once: as many of `amount` as are left. Concurrent callers on any number of nodes never take more
   * than `limit` in total until the window ends.
   *
   * @param window - its `amount` is at least 1
   */
  take(id: string, window: AttemptWindow & { readonly amount: number }): Promise<TakenAttempts>;
  /** Uncounts one attempt. */
  giveBack(id: string): Promise<void>;
  /** Uncounts all attempts. */
  forget(id: string): Promise<void>;
}

/**
 * Remembers which client assertions (RFC 7523) were used, so that each is accepted once on all nodes: the `assertions` of a
 * {@link Storage}.
 */
export interface AssertionStore {
  /**
   * Records that an assertion was used. Exactly one of any number of concurrent callers gets `true`; every other and later one
   * gets `false`, until the row is pruned.
   *
   * @param id - SHA-256 of the client and the `jti`, base64url
   * @param expiresAt - in seconds since 1970: from when on the assertion is refused because it has expired
   */
  spend(id: string, expiresAt: number): Promise<boolean>;
}
