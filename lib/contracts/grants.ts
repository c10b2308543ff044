/**
 * The consent of a user for a client, given on the consent page: one per user and client, for all sessions and browsers. Times
 * are in seconds since 1970.
 */
export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  /**
   * The scopes consented to so far, unique and sorted. An empty name means a request without scopes: all that the user may do.
   * In front of a scope of an API other than the default are the URL of the API and a space.
   */
  readonly scopes: readonly string[];
  /**
   * The scopes consented to by redirect host. A host is an origin such as `https://reports.example`, the URI scheme of an
   * installed app such as `com.example.reports:`, or `device:` for the device authorization grant. The scopes of a list are unique
   * and sorted; an empty list means a request that named no scope and permitted nothing. For a host without an entry, the user has
   * not been asked. Each API other than the default has entries of its own: in front of the host are the URL of the API and a space.
   */
  readonly hosts: Readonly<Record<string, readonly string[]>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When the client last acted for the user, to the hour. */
  readonly lastUsedAt: number | undefined;
}

/** Stores consents: the `consents` of a {@link Storage}. */
export interface ConsentStore {
  /** Finds the consent of a user for a client. */
  find(userId: string, clientId: string): Promise<Consent | undefined>;
  /**
   * Inserts a consent, or adds its scopes, and the scopes of each host, to the stored one, which keeps its `createdAt` and
   * `lastUsedAt` and gets the later `updatedAt`. Concurrent calls are all stored, and a call does not restore what was deleted
   * before it.
   *
   * @param basis.registration - whether the consent depends on the {@link StoredRegistration} of the client. It then moves
   * `removableAt` of the registration to `unusedAfter` after the consent, unless that is later already. When there is no
   * registration, because the client was deleted, nothing is stored and the call resolves to `false`. A concurrent deletion is
   * serialized before or after this call, and one after it deletes the consent
   */
  add(consent: Consent, basis?: { readonly registration: boolean }): Promise<boolean>;
  /** Records that the client acted for the user, in seconds since 1970. May lose a record; no request waits for it. */
  touch(userId: string, clientId: string, at: number): Promise<void>;
  /** Resolves to `false` when there was none. The grants stay; the caller revokes them with `GrantStore.revoke`. */
  delete(userId: string, clientId: string): Promise<boolean>;
  /** Deletes all consents of all users, in batches. Resolves to their number. */
  deleteAll(): Promise<number>;
  /** Lists all consents of a user, oldest first. */
  list(userId: string): Promise<readonly Consent[]>;
}

/**
 * One authorization of a client by a user: the parent of one code and of every token issued from it (the "family"). Times are
 * in seconds since 1970.
 */
export interface Grant {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  /** The scopes that it is limited to. Empty: it permits nothing. `undefined`: no limit, it permits all that the user may do. */
  readonly scopes: readonly string[] | undefined;
  readonly createdAt: number;
  /** When its code expires. A storage keeps the grant until the last of its credentials has expired. */
  readonly expiresAt: number;
  /** When it was revoked, with every code and token of it; `undefined` when it was not. */
  readonly revokedAt: number | undefined;
  /**
   * {@link RevocationStore.latestSequence} at the start of the authorization request. The grant is invalid when its user or its
   * client, or all of them, have been ended with a greater number.
   */
  readonly sequence: number;
}

/** The grants to revoke: one, or all of a user for a client. */
export type GrantSelector = { readonly id: string } | { readonly userId: string; readonly clientId: string };

/** An access token that was revoked before it expired. Times are in seconds since 1970. */
export interface RevokedToken {
  /** Its `jti`. */
  readonly id: string;
  readonly revokedAt: number;
  /** When it expires: the row can be pruned then. */
  readonly expiresAt: number;
}

/**
 * Whose sessions, grants and tokens are all ended at once: a user's, a client's with all grants of its users, or those of all
 * users and clients, also of ones that the storage does not know.
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
  /** The grant that it was issued for, and its user; `undefined` for a token of a client for itself. */
  readonly grant: { readonly id: string; readonly userId: string } | undefined;
  /** For a token of a client for itself: the {@link StoredClient.sequence} that the client had when it was authenticated. */
  readonly sequence: number;
}

/**
 * Stores revocations: the `revocations` of a {@link Storage}.
 *
 * Tokens are revoked one by one. A user or a client is ended as a whole. Each end gets a sequence number, which is greater than
 * that of the previous end. Each new session, grant and token of a client stores the latest number at its start, and is invalid
 * when that number is smaller than the number of the latest end of its user or client. This holds whenever and on whatever node
 * the row was written, because no clocks are compared. The ends become visible in the order of their numbers.
 *
 * A number is also at least the time in microseconds since 1970. A database that was restored from a backup has lost the latest
 * numbers, and tokens that were issued after the backup carry them: the time makes the next number greater than these.
 */
export interface RevocationStore {
  /** Revokes an access token. A repeated call keeps the later of the times. */
  revokeToken(token: RevokedToken): Promise<void>;
  /**
   * Ends all sessions, grants and tokens of a user, of a client, or of all until now. The row is never pruned, because an id may
   * be reused.
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

/** Stores grants: the `grants` of a {@link Storage}. {@link CredentialStore.start} inserts them. */
export interface GrantStore {
  /** Finds a grant, revoked and ended ones included. */
  find(id: string): Promise<Grant | undefined>;
  /**
   * Marks grants as revoked.
   *
   * @param at - in seconds since 1970
   * @returns the ids of the grants that were not revoked before
   */
  revoke(selector: GrantSelector, at: number): Promise<readonly string[]>;
}

/** A one-time credential: an authorization code, the device code of an approved request, or a refresh token. */
export interface Credential {
  readonly kind: 'code' | 'device_code' | 'refresh_token';
  /** SHA-256 of the value, base64url. */
  readonly id: string;
  readonly grantId: string;
  /** The data that the engine (`oidc-provider`) stores with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** In seconds since 1970. */
  readonly expiresAt: number;
  /** When it was spent, in milliseconds since 1970 by the clock of the storage; only the storage compares it. */
  readonly consumedAt: number | undefined;
  /** The value that this one was exchanged for, encrypted with a key derived from this credential's value. */
  readonly sealedSuccessor: string | undefined;
}

/** The rows that a new grant depends on. */
export interface GrantBasis {
  /** The consent that the request has found; `undefined` when the client needs none. */
  readonly consent?: Pick<Consent, 'userId' | 'clientId' | 'createdAt'> | undefined;
  /** The id of the login session of the request. */
  readonly sessionId?: string | undefined;
}

/** The result of {@link CredentialStore.find}. Its durations are measured by the clock of the storage, which all nodes share. */
export interface FoundCredential {
  readonly credential: Credential;
  readonly grant: Grant;
  /** In seconds, until it expires; 0 or less when it has. */
  readonly expiresIn: number;
  /** In milliseconds, since it was spent; `undefined` when it was not. */
  readonly spentFor: number | undefined;
}

/** The result of {@link CredentialStore.redeem}. */
export type Redemption =
  | { readonly outcome: 'redeemed' }
  /** Another request has redeemed it before. */
  | { readonly outcome: 'spent'; readonly sealedSuccessor: string | undefined }
  /** Unknown, or its grant is revoked or ended. */
  | { readonly outcome: 'gone' };

/** Stores codes and refresh tokens: the `credentials` of a {@link Storage}. */
export interface CredentialStore {
  /**
   * Saves a code and its new grant: both or neither. `expiresAt` is by the clock of this node; where the storage's own differs by
   * more than 5 seconds, it is stored by that one, so that a minute is a minute on every node.
   *
   * @param basis - the rows that the grant depends on. When one of them has been deleted, nothing is saved and the call
   * resolves to `false`. A concurrent deletion is serialized before or after this call, so that a revocation of grants that
   * follows the deletion includes this grant.
   */
  start(grant: Grant, code: Credential, basis?: GrantBasis): Promise<boolean>;
  /**
   * Finds a credential with its grant in one read, spent and expired ones included, but not those of a revoked or ended grant.
   */
  find(kind: Credential['kind'], id: string): Promise<FoundCredential | undefined>;
  /**
   * Spends a credential now and saves its successor in one transaction. Of all callers, on any number of processes and nodes,
   * exactly one ever gets `redeemed`, and only that caller's successor is saved.
   */
  redeem(
    spent: Pick<Credential, 'kind' | 'id'>,
    exchange: {
      successor?: Credential | undefined;
      sealedSuccessor?: string | undefined;
      /** When the access token of the response expires, in seconds since 1970: the grant is stored at least until then. */
      neededUntil?: number | undefined;
    },
  ): Promise<Redemption>;
}
