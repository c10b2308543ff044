import type { Seconds } from './duration.ts';

/** The response to a request with an `Idempotency-Key`, sent again when the request is repeated. */
export interface StoredAnswer {
  readonly status: number;
  /** JSON text. */
  readonly body: string;
}

/** A request with an `Idempotency-Key`. */
export interface StoredRequest {
  /** SHA-256 of the caller and the key, base64url. */
  readonly id: string;
  /** SHA-256 of the method, the path and the body, base64url: a key that is sent again with another request is refused. */
  readonly fingerprint: string;
  /**
   * A random id of the attempt that runs the request, so that an attempt whose lease has ended cannot finish another one's run.
   */
  readonly attempt: string;
  /** The time until which no other attempt may take the request over. */
  readonly leasedUntil: Seconds;
  readonly expiresAt: Seconds;
  /** `undefined` while the request runs. */
  readonly answer: StoredAnswer | undefined;
}

/**
 * Stores the responses to requests with an `Idempotency-Key`, so that a repeated request runs once: the `idempotency` of a
 * {@link Storage}.
 */
export interface IdempotencyStore {
  /**
   * Starts a request. Exactly one caller gets `undefined` and runs it; every other caller gets the stored request. When the lease of a
   * request ended before `now` without an answer, one caller with the same fingerprint takes the request over; any caller takes over an
   * expired request. The attempt that runs the request gets `undefined` again when it repeats the call, such as after a lost database
   * response.
   */
  begin(request: StoredRequest, now: Seconds): Promise<StoredRequest | undefined>;
  /**
   * Moves the end of the lease, and `expiresAt` too when that is earlier. Resolves to `false` when the request has an answer,
   * or another attempt has taken it over.
   */
  extend(request: Pick<StoredRequest, 'id' | 'attempt'>, leasedUntil: Seconds): Promise<boolean>;
  /**
   * Stores the answer; a repeated call keeps the first one. Resolves to `false` when another attempt has taken the request over: the
   * answer of that attempt is stored instead.
   *
   * @param transaction - the running transaction of {@link Storage.transaction}, with which the answer is committed or rolled back
   */
  finish(
    request: Pick<StoredRequest, 'id' | 'attempt'>,
    answer: StoredAnswer,
    transaction?: unknown,
  ): Promise<boolean>;
  /** Deletes a request that had no effect, so that the key can be used again. A request with an answer stays. */
  abandon(request: Pick<StoredRequest, 'id' | 'attempt'>): Promise<void>;
}
