import type { Seconds } from './duration.ts';

/** An access token that was revoked before it expired. */
export interface RevokedToken {
  /** Its `jti`. */
  readonly id: string;
  readonly revokedAt: Seconds;
  /** When the token expires, and the row can be pruned. */
  readonly expiresAt: Seconds;
}

/**
 * Whose sessions, grants and tokens are all ended at once: those of a user, those of a client with all grants of its users, or those of
 * all users and clients, even of ones that the storage does not know.
 */
export type RevokedParty =
  | { readonly userId: string }
  | { readonly clientId: string }
  | { readonly all: true };

/** The members of a verified access token that decide whether it has been revoked. */
export interface TokenInQuestion {
  /** Its `jti`. */
  readonly id: string;
  readonly clientId: string;
  /** The grant for which the token was issued, and the grant's user; `undefined` for a token of a client for itself. */
  readonly grant: { readonly id: string; readonly userId: string } | undefined;
  /** For a token of a client for itself: the `StoredClient.sequence` that the client had when it was authenticated. */
  readonly sequence: number;
}

/**
 * Stores revocations: the `revocations` of a {@link Storage}.
 *
 * Tokens are revoked one by one. A user or a client is ended as a whole. Each end gets a sequence number, which is greater than that of
 * the previous end. Each new session, grant and token of a client stores the latest number at its start, and is invalid when that number
 * is smaller than the number of the latest end of its user or client. This holds whenever and on whatever node the row was written,
 * because no clocks are compared. The ends become visible in the order of their numbers.
 *
 * A number is also at least the time in microseconds since 1970. A database that was restored from a backup has lost the latest numbers,
 * and tokens that were issued after the backup carry these numbers. The time makes the next number greater than them.
 */
export interface RevocationStore {
  /** Revokes an access token. A repeated call keeps the later of the times. */
  revokeToken(token: RevokedToken): Promise<void>;
  /**
   * Ends all sessions, grants and tokens of a user, of a client, or of all until now. The row is never pruned, because an id may
   * be reused.
   *
   */
  revokeAllOf(party: RevokedParty): Promise<void>;
  /** The number of the latest end. */
  latestSequence(): Promise<number>;
  /**
   * Whether a token is still valid, from one read: the token and its grant were not revoked, and its client and its user were
   * not ended since it was issued. A grant has to exist and belong to that user and that client.
   */
  isValid(token: TokenInQuestion): Promise<boolean>;
}
