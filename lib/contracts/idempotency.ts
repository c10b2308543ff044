/** An answer that is given again. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** A request with an `Idempotency-Key`, from its begin on. Times are in seconds since 1970. */
export interface StoredRequest {
  /** SHA-256 of the caller and the key, base64url. */
  readonly id: string;
  /** SHA-256 of the method, the path and the body, base64url: the same key with another request is a mistake. */
  readonly fingerprint: string;
  /** Who runs it: made up for each attempt, so that one that was given up cannot end another's. */
  readonly attempt: string;
  /** Until when the attempt is trusted to be alive. */
  readonly leasedUntil: number;
  readonly expiresAt: number;
  /** Absent while it runs. */
  readonly answer: StoredAnswer | undefined;
}

/** Keeps what was answered, so that a request that is sent again runs once: the `idempotency` of a {@link Storage}. */
export interface IdempotencyStore {
  /**
   * Begins a request: one caller ever gets `undefined` and runs it; the others get what is there. A request whose lease
   * has ended without an answer, as of `now`, is taken over by one caller that has the same fingerprint; one that has
   * expired, by any. The attempt that runs a request gets `undefined` again, as when the answer to it was lost.
   *
   * @param now - in seconds since 1970
   */
  begin(request: StoredRequest, now: number): Promise<StoredRequest | undefined>;
  /**
   * Moves the end of the lease, and `expiresAt` along when it would come first. `false`: the request has an answer, or is
   * another attempt's by now.
   *
   * @param leasedUntil - in seconds since 1970
   */
  extend(request: Pick<StoredRequest, 'id' | 'attempt'>, leasedUntil: number): Promise<boolean>;
  /**
   * Keeps the answer; told twice, the first one stays. `false`: the request is another attempt's by now, and theirs
   * counts.
   *
   * @param transaction - what {@link Storage.transaction} has handed to work that is still under way: then the answer is
   * kept with what that does, or not at all
   */
  finish(
    request: Pick<StoredRequest, 'id' | 'attempt'>,
    answer: StoredAnswer,
    transaction?: unknown,
  ): Promise<boolean>;
  /** Forgets a request that did nothing, so that the key can be used again. One that has an answer stays. */
  abandon(request: Pick<StoredRequest, 'id' | 'attempt'>): Promise<void>;
}
