import type { Milliseconds, Seconds } from './duration.ts';
import type { Consent } from './consents.ts';
import type { EndedBy } from './ends.ts';

/** One authorization of a client by a user: the parent of one code and of every token issued from it (the "family"). */
export interface Grant {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  /**
   * The scopes that the grant is limited to. With an empty list, it permits nothing. With `undefined`, it has no limit and permits all
   * that the user may do.
   */
  readonly scopes: readonly string[] | undefined;
  readonly createdAt: Seconds;
  /** When the code of the grant expires. The storage keeps the grant until then, and until the last of its credentials has expired. */
  readonly expiresAt: Seconds;
  /** When the grant was revoked, with all its codes and tokens; `undefined` when it was not. */
  readonly revokedAt: Seconds | undefined;
  /**
   * `RevocationStore.latestSequence` at the start of the authorization request. The grant is invalid when its user, its client or all
   * have been ended with a greater number.
   */
  readonly sequence: number;
  /** Where the grant was authorized; `undefined` for a grant of `auth.issueToken()` or of a Laravel app that has moved in. */
  readonly origin: GrantOrigin | undefined;
  /**
   * The `StoredSession.uid` of the login session in which the user has signed in at the client by this grant; `undefined` when the
   * client has got no ID token, or the user was signed out there.
   */
  readonly sessionUid: string | undefined;
}

/** Where a user has authorized a client, so that the user can recognize the grant. */
export interface GrantOrigin {
  /** The IP address of the authorization request or, for a device, of the device's own request; empty when a proxy sent none. */
  readonly address: string;
  /** The `User-Agent` of that request, at most 200 characters; empty when it had none. */
  readonly userAgent: string;
}

/** A grant that a client can still use. */
export interface UsableGrant extends Grant {
  /** The time of the last use, to the hour; `undefined` when the grant was used only within its first hour, or never. */
  readonly lastUsedAt: Seconds | undefined;
}

/** The grants to revoke: one, or all of a user for a client. */
export type GrantSelector = { readonly id: string } | { readonly userId: string; readonly clientId: string };

/** The kinds of credentials. Features have others, for requests that a user has approved. */
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
  /** The value for which this credential was exchanged, encrypted with a key that is derived from this credential's value. */
  readonly sealedSuccessor: string | undefined;
}

/** The rows that a new grant depends on. */
export interface GrantPrerequisites {
  /** The consent that the request has found; `undefined` when the client needs none. */
  readonly consent?: Pick<Consent, 'userId' | 'clientId' | 'createdAt'> | undefined;
  /** The id of the login session of the request. */
  readonly sessionId?: string | undefined;
  /**
   * A row that is for one grant only: it is deleted with the insertion, by its column `id`. One that is gone stops the insertion, and a
   * grant that is not inserted for another reason leaves it.
   */
  readonly spends?: { readonly table: string; readonly id: string } | undefined;
}

/** The result of {@link GrantStore.findCredential}. Its durations are measured by the clock of the storage, which all nodes share. */
export interface FoundCredential {
  readonly credential: Credential;
  readonly grant: Grant;
  /** The time until the credential expires; 0 or less when it has expired. */
  readonly expiresIn: Seconds;
  /** The time since the credential was spent; `undefined` when it was not. */
  readonly spentFor: Milliseconds | undefined;
}

/** The result of {@link GrantStore.redeem}. */
export type Redemption =
  | { readonly outcome: 'redeemed' }
  /** Another request has redeemed the credential before. */
  | { readonly outcome: 'spent'; readonly sealedSuccessor: string | undefined }
  /** The credential is unknown, or its grant is revoked or ended. */
  | { readonly outcome: 'gone' };

/**
 * Stores grants with their credentials: the `grants` of a {@link Storage}.
 *
 * A grant begins with its first credential. Each credential is redeemed once, for the next one of the grant. When the grant is revoked,
 * or its user or client is ended, no credential of it can be found or redeemed any more.
 */
export interface GrantStore {
  /**
   * Inserts a grant and its first credential: both or neither. The `expiresAt` of the credential is a time by this node's clock. Where
   * the storage's own clock differs by more than 5 seconds, the stored time is converted to that clock, so that a minute is a minute on
   * every node.
   *
   * @param prerequisites - the rows that the grant depends on. When one of them has been deleted, or the user of the grant was ended
   * after its `sequence`, nothing is stored and the call resolves to `false`. A concurrent deletion comes before or after this call, so
   * that a revocation of grants after the deletion includes this grant.
   */
  insert(grant: Grant, credential: Credential, prerequisites?: GrantPrerequisites): Promise<boolean>;
  /** Finds a grant, revoked and ended ones included. */
  find(id: string): Promise<Grant | undefined>;
  /** Finds a credential with its grant in one read. Finds spent and expired credentials too, but none of a revoked or ended grant. */
  findCredential(kind: Credential['kind'], id: string): Promise<FoundCredential | undefined>;
  /**
   * Finds a refresh token and, in the same read, its successors: the token that it was redeemed for, the successor of that token, and so
   * on up to the current one. The chain ends earlier at a token that has been pruned. Empty when the token is unknown, or its grant is
   * revoked or ended.
   *
   * @param limit - the largest number of refresh tokens to find, the first included
   */
  findChain(id: string, limit: number): Promise<readonly Omit<FoundCredential, 'grant'>[]>;
  /**
   * Spends a credential now and saves its successor in one transaction. Among all callers, on any number of processes and nodes, exactly
   * one ever gets `redeemed`, and only that caller's successor is saved.
   */
  redeem(
    spent: Pick<Credential, 'kind' | 'id'>,
    exchange: {
      successor?: Credential | undefined;
      sealedSuccessor?: string | undefined;
      /** When the access token of the response expires: the grant is stored at least until then. */
      neededUntil?: Seconds | undefined;
      /** The `sessionUid` that the grant still has to have, which shows that its login session has not ended. @default any */
      sessionUid?: string | undefined;
    },
  ): Promise<Redemption>;
  /**
   * Lists the grants of a user, the last used one first, without revoked and ended grants, and without grants whose credentials have all
   * expired.
   */
  list(
    userId: string,
    /** `limit` is the largest number for each client. */
    page: { readonly now: Seconds; readonly limit: number },
  ): Promise<readonly UsableGrant[]>;
  /** Records that the client used a grant. May lose a record; no request waits for it. */
  touch(id: string, at: Seconds): Promise<void>;
  /**
   * Marks grants as revoked.
   *
   * @param by - who revokes them, for readers of ends. @default 'owner'
   * @returns the ids of the grants that were not revoked before
   */
  revoke(selector: GrantSelector, at: Seconds, by?: EndedBy): Promise<readonly string[]>;
  /**
   * Revokes the grants of a user for a client that were not used for the longest time, so that `most` are left; `kept` stays, however old
   * it is. A grant whose credentials have all expired, such as one with a code that nobody has redeemed, displaces no other grant. Among
   * concurrent calls, on any nodes, the last one finds all grants that they have inserted.
   *
   * Nobody is told of these ends: the end of their login session is still told, once for all its grants. A grant that is not needed for
   * that may be pruned.
   *
   * @returns the ids of the ended grants that were not revoked before
   */
  endUnused(
    of: { readonly userId: string; readonly clientId: string; readonly kept: string },
    most: number,
    at: Seconds,
  ): Promise<readonly string[]>;
}
