/**
 * A user's remembered "Authorize": one per user and client, across sessions and browsers. Times are in seconds since 1970.
 */
export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  /** Those agreed to so far, each once and sorted. An empty name stands for a request without scopes: all that the user may do. */
  readonly scopes: readonly string[];
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
   * Inserts, or adds the scopes to those of the one that is there, which keeps its `createdAt` and `lastUsedAt`, and the later
   * `updatedAt`. Of many at once none is lost, and none brings back what was removed before it.
   */
  add(consent: Consent): Promise<void>;
  /** Notes that the client acted for the user, at a time in seconds since 1970. May be lossy; never blocks a request. */
  touch(userId: string, clientId: string, at: number): Promise<void>;
  /** Resolves to `false` when there was none. The grants stay: they are revoked on their own. */
  remove(userId: string, clientId: string): Promise<boolean>;
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
  readonly scopes: readonly string[];
  readonly createdAt: number;
  /** When its code expires. A storage keeps the grant for as long as any credential of it lives. */
  readonly expiresAt: number;
  /** Set: every code and token of this grant is dead. */
  readonly revokedAt: number | undefined;
}

/** Which grants to revoke: one, or all of a user, of a client, or of a user at a client. */
export type GrantSelector =
  | { readonly id: string }
  | { readonly userId: string; readonly clientId?: string | undefined }
  | { readonly clientId: string };

/** Something whose tokens must stop working although they are signed and unexpired. Times are in seconds since 1970. */
export interface Revocation {
  readonly kind: 'token' | 'grant' | 'client';
  /** The `jti`, the grant id, or the client id (then: its client-credentials tokens issued until `revokedAt`). */
  readonly value: string;
  readonly revokedAt: number;
  /** When the last token it concerns has expired, so that the row can be pruned. */
  readonly expiresAt: number;
}

/** Keeps what was revoked, for the guards of all nodes: the `revocations` of a {@link Storage}. */
export interface RevocationStore {
  /** Inserts, or moves the times of the one that is there to the later ones. */
  add(revocation: Revocation): Promise<void>;
  /** Those of the given keys that are revoked, in one read. */
  among(keys: readonly Pick<Revocation, 'kind' | 'value'>[]): Promise<readonly Revocation[]>;
  /** All with `revokedAt` at or after the given time, in seconds since 1970, for the other nodes. */
  since(time: number): Promise<readonly Revocation[]>;
}

/** Keeps grants: the `grants` of a {@link Storage}. They are begun by {@link CredentialStore.start}. */
export interface GrantStore {
  /** Finds a grant, revoked ones too. */
  find(id: string): Promise<Grant | undefined>;
  /** All of a user's, oldest first. */
  list(userId: string): Promise<readonly Grant[]>;
  /**
   * Marks grants as revoked and records a {@link Revocation} for each, every grant together with its record. Very many
   * go in batches: after an error, calling again revokes the rest.
   *
   * @param at - in seconds since 1970
   * @returns the ids of those that were live until now
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

/** How spending a credential ended. */
export type Redemption =
  | { readonly outcome: 'redeemed' }
  /** Somebody was first. */
  | { readonly outcome: 'spent'; readonly consumedAt: number; readonly sealedSuccessor: string | undefined }
  /** Unknown, or its grant is revoked. */
  | { readonly outcome: 'gone' };

/** Keeps codes and refresh tokens: the `credentials` of a {@link Storage}. */
export interface CredentialStore {
  /**
   * Saves a code and the grant it starts: both or neither.
   *
   * @param agreed - the consent that it rests on: nothing is saved, and it resolves to `false`, when that one has been
   * removed by then. A removal comes wholly before, or wholly after: whoever then revokes the grants finds this one.
   */
  start(
    grant: Grant,
    code: Credential,
    agreed?: Pick<Consent, 'userId' | 'clientId' | 'createdAt'>,
  ): Promise<boolean>;
  /** Finds a credential, spent and expired ones too, with its grant, as one read. Those of a revoked grant are not found. */
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
