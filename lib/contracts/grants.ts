/**
 * A user's remembered "Authorize": one per user and client, across sessions and browsers. Times are in seconds since 1970.
 */
export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  /** Those agreed to so far, each once and sorted. An empty name stands for a request without scopes: all that the user may do. */
  readonly scopes: readonly string[];
  /**
   * Which of them were agreed to for which redirect host: an origin such as `https://reports.example`, or the scheme of an
   * installed app such as `com.example.reports:`. Each list has its scopes once and sorted; an empty one stands for a request
   * that named none and was limited to none. For a host that is not in here, nobody was ever asked.
   */
  readonly hosts: Readonly<Record<string, readonly string[]>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  /** When the client last acted for the user, to the hour. */
  readonly lastUsedAt: number | undefined;
}

/** Keeps what people have agreed to: the `consents` of a {@link Storage}. */
export interface ConsentStore {
  /** Finds what a user has agreed to for a client. */
  find(userId: string, clientId: string): Promise<Consent | undefined>;
  /**
   * Inserts, or adds the scopes, and those of each host, to those of the one that is there, which keeps its `createdAt` and
   * `lastUsedAt`, and the later `updatedAt`. Of many at once none is lost, and none brings back what was removed before it.
   */
  add(consent: Consent): Promise<void>;
  /** Notes that the client acted for the user, at a time in seconds since 1970. May be lossy; never blocks a request. */
  touch(userId: string, clientId: string, at: number): Promise<void>;
  /** Resolves to `false` when there was none. The grants stay: they are revoked on their own. */
  delete(userId: string, clientId: string): Promise<boolean>;
  /** All of a user's, oldest first. */
  list(userId: string): Promise<readonly Consent[]>;
}

/**
 * What one authorization allowed: the parent of one code and of every token that came from it (the "family"). Times are in
 * seconds since 1970.
 */
export interface Grant {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  /** None: all that the user may do. A single space: nothing at all. */
  readonly scopes: readonly string[];
  readonly createdAt: number;
  /** When its code expires. A storage keeps the grant for as long as any credential of it lives. */
  readonly expiresAt: number;
  /** Set: every code and token of this grant is dead. */
  readonly revokedAt: number | undefined;
  /**
   * {@link RevocationStore.sequence} when the request for it was begun. The grant is dead as well when its user or its client
   * has been ended with a later one.
   */
  readonly sequence: number;
}

/** Which grants to revoke: one, or all of a user at a client. */
export type GrantSelector = { readonly id: string } | { readonly userId: string; readonly clientId: string };

/** An access token that must stop working although it is signed and unexpired. Times are in seconds since 1970. */
export interface RevokedToken {
  /** Its `jti`. */
  readonly id: string;
  readonly revokedAt: number;
  /** When it expires, so that the row can be pruned. */
  readonly expiresAt: number;
}

/** Somebody for whom everything that has begun is ended at once: a user, or a client with all of its users' grants. */
export type EndedParty = { readonly userId: string } | { readonly clientId: string };

/** What of a verified access token decides whether it still stands. */
export interface TokenInQuestion {
  /** Its `jti`. */
  readonly id: string;
  readonly clientId: string;
  /** The grant that it was issued for, and its user; `undefined` for a token that a client has for itself. */
  readonly grant: { readonly id: string; readonly userId: string } | undefined;
  /** Of a client's own token: the {@link StoredClient.sequence} that the client had when it was authenticated. */
  readonly sequence: number;
}

/**
 * Keeps what was revoked: the `revocations` of a {@link Storage}.
 *
 * Tokens are revoked one by one. A user or a client is ended as a whole: each end has a number of its own, one more than the
 * one before it, and whatever begins (a session, a grant, a client's token) notes the latest number of that moment. What has
 * noted a smaller number than that of the end of its user or client is dead, whenever it was written, and on whatever node:
 * no clock is asked. The numbers are given in the order in which the ends can be seen.
 */
export interface RevocationStore {
  /** Revokes an access token. Again: the later times stay. */
  add(token: RevokedToken): Promise<void>;
  /** Ends all that a user or a client has begun until now. Kept for good: an id may be given to somebody else. */
  end(party: EndedParty): Promise<void>;
  /** The number of the latest end of anybody. */
  sequence(): Promise<number>;
  /**
   * Whether a token is still good, as one read: it was not revoked, its client was not ended since, and neither was its grant
   * or its user. The grant has to be there, of that user and that client.
   */
  stands(token: TokenInQuestion): Promise<boolean>;
}

/** Keeps grants: the `grants` of a {@link Storage}. They are begun by {@link CredentialStore.start}. */
export interface GrantStore {
  /** Finds a grant, dead ones too. */
  find(id: string): Promise<Grant | undefined>;
  /**
   * Marks grants as revoked.
   *
   * @param at - in seconds since 1970
   * @returns the ids of those that were not marked until now
   */
  revoke(selector: GrantSelector, at: number): Promise<readonly string[]>;
}

/** A one-time credential: an authorization code or a refresh token. */
export interface Credential {
  readonly kind: 'code' | 'refresh_token';
  /** SHA-256 of the value, base64url. */
  readonly id: string;
  readonly grantId: string;
  /** What the engine keeps with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** In seconds since 1970. */
  readonly expiresAt: number;
  /** When it was spent, in milliseconds since 1970: finer than the rest, because a retry and a replay differ by little. */
  readonly consumedAt: number | undefined;
  /** The value that this one was exchanged for, sealed so that only who presents this one can open it. */
  readonly sealedSuccessor: string | undefined;
}

/** What an authorization rests on. */
export interface GrantBasis {
  /** The consent, as it was found; `undefined` when the client needs none. */
  readonly consent?: Pick<Consent, 'userId' | 'clientId' | 'createdAt'> | undefined;
  /** The id of the login session of the request. */
  readonly sessionId?: string | undefined;
}

/** How spending a credential ended. */
export type Redemption =
  | { readonly outcome: 'redeemed' }
  /** Somebody was first. */
  | { readonly outcome: 'spent'; readonly consumedAt: number; readonly sealedSuccessor: string | undefined }
  /** Unknown, or its grant is dead. */
  | { readonly outcome: 'gone' };

/** Keeps codes and refresh tokens: the `credentials` of a {@link Storage}. */
export interface CredentialStore {
  /**
   * Saves a code and the grant it starts: both or neither.
   *
   * @param basis - what it rests on: nothing is saved, and it resolves to `false`, when any of that has been removed by then.
   * A removal comes wholly before, or wholly after: whoever then revokes the grants finds this one.
   */
  start(grant: Grant, code: Credential, basis?: GrantBasis): Promise<boolean>;
  /** Finds a credential, spent and expired ones too, with its grant, as one read. Those of a dead grant are not found. */
  find(kind: Credential['kind'], id: string): Promise<{ credential: Credential; grant: Grant } | undefined>;
  /**
   * Spends a credential and saves its successor, as one transaction with exactly one winner, whatever the number of
   * callers, processes and nodes. `redeemed` is given to one caller ever; only then the successor is saved.
   */
  redeem(
    spent: Pick<Credential, 'kind' | 'id'>,
    exchange: {
      /** In milliseconds since 1970. */
      at: number;
      successor?: Credential | undefined;
      sealedSuccessor?: string | undefined;
      /** When the access token that is given along expires, in seconds since 1970: the grant is kept until then at least. */
      neededUntil?: number | undefined;
    },
  ): Promise<Redemption>;
}
