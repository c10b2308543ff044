import type { Milliseconds, Seconds } from './duration.ts';
import type { Consent } from './consents.ts';
import type { EndedBy } from './ends.ts';

/** One authorization of a client by a user: the parent of one code and of every token issued from it (the "family"). */
export interface Grant {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  /** The scopes that it is limited to. Empty: it permits nothing. `undefined`: no limit, it permits all that the user may do. */
  readonly scopes: readonly string[] | undefined;
  readonly createdAt: Seconds;
  /** When its code expires. A storage keeps the grant until then, and until the last of its credentials has expired. */
  readonly expiresAt: Seconds;
  /** When it was revoked, with every code and token of it; `undefined` when it was not. */
  readonly revokedAt: Seconds | undefined;
  /**
   * {@link RevocationStore.latestSequence} at the start of the authorization request. The grant is invalid when its user or its
   * client, or all of them, have been ended with a greater number.
   */
  readonly sequence: number;
  /** Where it was authorized; `undefined` for one of `auth.issueToken()` or of a Laravel app that has moved in. */
  readonly origin: GrantOrigin | undefined;
  /**
   * The {@link StoredSession.uid} of the login session in which the user has signed in at the client by it.
   * `undefined`: the client has got no ID token, or the user was signed out there.
   */
  readonly sessionUid: string | undefined;
}

/** Where a user has authorized a client: what the user recognizes the grant by. */
export interface GrantOrigin {
  /** The IP address of the authorization request; of a device, that of the device's own request. Empty when a proxy sent none. */
  readonly address: string;
  /** The `User-Agent` of that request, of at most 120 characters; empty when it had none. */
  readonly userAgent: string;
}

/** A grant that a client can still use. */
export interface UsableGrant extends Grant {
  /** To the hour. `undefined`: only within the first hour, or never. */
  readonly lastUsedAt: Seconds | undefined;
}

/** The grants to revoke: one, or all of a user for a client. */
export type GrantSelector = { readonly id: string } | { readonly userId: string; readonly clientId: string };

/** Features have others, of requests that a user has approved. */
export type CredentialKind = 'code' | 'refresh_token' | (string & {});

/** A one-time credential, such as an authorization code or a refresh token. */
export interface Credential {
  readonly kind: CredentialKind;
  /** SHA-256 of the value, base64url. */
  readonly id: string;
  readonly grantId: string;
  /** The data that the engine (`oidc-provider`) stores with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expiresAt: Seconds;
  /** When it was spent, in milliseconds since 1970 by the clock of the storage; only the storage compares it. */
  readonly consumedAt: Milliseconds | undefined;
  /** The value that this one was exchanged for, encrypted with a key derived from this credential's value. */
  readonly sealedSuccessor: string | undefined;
}

/** The rows that a new grant depends on. */
export interface GrantPrerequisites {
  /** The consent that the request has found; `undefined` when the client needs none. */
  readonly consent?: Pick<Consent, 'userId' | 'clientId' | 'createdAt'> | undefined;
  /** The id of the login session of the request. */
  readonly sessionId?: string | undefined;
}

/** The result of {@link GrantStore.findCredential}. Its durations are measured by the clock of the storage, which all nodes share. */
export interface FoundCredential {
  readonly credential: Credential;
  readonly grant: Grant;
  /** Until it expires; 0 or less when it has. */
  readonly expiresIn: Seconds;
  /** Since it was spent; `undefined` when it was not. */
  readonly spentFor: Milliseconds | undefined;
}

/** The result of {@link GrantStore.redeem}. */
export type Redemption =
  | { readonly outcome: 'redeemed' }
  /** Another request has redeemed it before. */
  | { readonly outcome: 'spent'; readonly sealedSuccessor: string | undefined }
  /** Unknown, or its grant is revoked or ended. */
  | { readonly outcome: 'gone' };

/**
 * Stores grants with their credentials: the `grants` of a {@link Storage}.
 *
 * A grant begins with its first credential. Each credential is redeemed once, for the next one of the grant. When the grant is revoked,
 * or its user or client are ended, none of them can be found or redeemed any more.
 */
export interface GrantStore {
  /**
   * Inserts a grant and its first credential: both or neither. The `expiresAt` of the credential is by the clock of this node; where the
   * storage's own differs by more than 5 seconds, it is stored by that one, so that a minute is a minute on every node.
   *
   * @param prerequisites - the rows that the grant depends on. When one of them has been deleted, or the user of the grant was ended after
   * its `sequence`, nothing is stored and the call resolves to `false`. A concurrent deletion is serialized before or after this call, so that a revocation of grants that
   * follows the deletion includes this grant.
   */
  insert(grant: Grant, credential: Credential, prerequisites?: GrantPrerequisites): Promise<boolean>;
  /** Finds a grant, revoked and ended ones included. */
  find(id: string): Promise<Grant | undefined>;
  /**
   * Finds a credential with its grant in one read, spent and expired ones included, but not those of a revoked or ended grant.
   */
  findCredential(kind: Credential['kind'], id: string): Promise<FoundCredential | undefined>;
  /**
   * Finds a refresh token and, in the same read, those that follow it: the one that it was redeemed for, the one that this was redeemed
   * for, and so on up to the current one. Ends earlier at one that has been pruned. Empty when the token is unknown, or its grant is
   * revoked or ended.
   *
   * @param limit - the largest number of refresh tokens to find, the first included
   */
  findChain(id: string, limit: number): Promise<readonly Omit<FoundCredential, 'grant'>[]>;
  /**
   * Spends a credential now and saves its successor in one transaction. Of all callers, on any number of processes and nodes,
   * exactly one ever gets `redeemed`, and only that caller's successor is saved.
   */
  redeem(
    spent: Pick<Credential, 'kind' | 'id'>,
    exchange: {
      successor?: Credential | undefined;
      sealedSuccessor?: string | undefined;
      /** When the access token of the response expires: the grant is stored at least until then. */
      neededUntil?: Seconds | undefined;
      /** The `sessionUid` that the grant still has to have: its login session has not ended. @default whichever */
      sessionUid?: string | undefined;
    },
  ): Promise<Redemption>;
  /**
   * Lists the grants of a user, those that were used last first: without the revoked and ended ones, and those whose credentials have all
   * expired.
   */
  list(
    userId: string,
    /** `limit`: so many for each client at most. */
    page: { readonly now: Seconds; readonly limit: number },
  ): Promise<readonly UsableGrant[]>;
  /** Records that the client used a grant. May lose a record; no request waits for it. */
  touch(id: string, at: Seconds): Promise<void>;
  /**
   * Marks grants as revoked.
   *
   * @param by - for those who read ends. @default 'owner'
   * @returns the ids of the grants that were not revoked before
   */
  revoke(selector: GrantSelector, at: Seconds, by?: EndedBy): Promise<readonly string[]>;
  /**
   * Revokes the grants of a user for a client that were not used for the longest time, so that `most` are left; `kept` is one of these,
   * however old. One whose credentials have all expired, such as a code that nobody has redeemed, displaces none. Of calls at once, on any nodes, the last one finds what all of them have inserted.
   *
   * Nobody is told of the ended ones: the end of their login session is told as before, once for all grants of it. One that is not
   * needed for that may be pruned.
   *
   * @returns the ids of those that were not revoked before
   */
  endUnused(
    of: { readonly userId: string; readonly clientId: string; readonly kept: string },
    most: number,
    at: Seconds,
  ): Promise<readonly string[]>;
}
