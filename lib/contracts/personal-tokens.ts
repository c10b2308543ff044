/** A personal access token as it is stored, and as it is listed. Its value is not stored. Times are in seconds since 1970. */
export interface PersonalToken {
  /** Not a credential: it names the token in lists, in the audit log and at introspection (`jti`). */
  readonly id: string;
  readonly userId: string;
  /** The user's own words for it, such as "Nightly import". */
  readonly name: string;
  /** The API that it is for; `undefined` for the default, the server's own. */
  readonly resource: string | undefined;
  /** The scopes that it is limited to. `undefined`: its API has no scopes, and {@link PersonalToken.permissions} limit it. */
  readonly scopes: readonly string[] | undefined;
  /** The permissions that it is limited to, where its API has no scopes. Empty: it says who the user is, and permits nothing. */
  readonly permissions: readonly string[] | undefined;
  readonly createdAt: number;
  readonly expiresAt: number;
  /** To the hour. `undefined`: never. */
  readonly lastUsedAt: number | undefined;
  /** The IP address of that use. */
  readonly lastUsedFrom: string | undefined;
}

/** A personal access token to store. */
export interface NewPersonalTokenRow extends Omit<PersonalToken, 'lastUsedAt' | 'lastUsedFrom'> {
  /** SHA-256 of the value, base64url. */
  readonly hash: string;
  /**
   * `RevocationStore.latestSequence` before the login, or the call, that it is created by: it is never valid when its user, or all, were
   * ended since.
   */
  readonly sequence: number;
}

/** Where and when a personal access token was used. */
export interface PersonalTokenUse {
  /** In seconds since 1970. */
  readonly at: number;
  readonly address: string;
  /** The network of the address, such as `192.0.2.0/24`. */
  readonly network: string;
}

/**
 * Stores personal access tokens: the `personalTokens` of a {@link Storage}. A token whose user, or all, were ended after it began (see
 * {@link RevocationStore}) is never found, listed or counted.
 */
export interface PersonalTokenStore {
  /**
   * Inserts a token, unless its user has `limit` of them, those that have expired at `now` not counted. Of any number of calls at once, on
   * any number of nodes, no more succeed than the limit allows. Resolves to `false` when the limit is reached.
   */
  insert(
    token: NewPersonalTokenRow,
    bound: { readonly limit: number; readonly now: number },
  ): Promise<boolean>;
  /** Finds a token by the hash of its value, expired ones included. */
  findByHash(hash: string): Promise<PersonalToken | undefined>;
  /** Finds a token by its id, expired ones included. */
  find(id: string): Promise<PersonalToken | undefined>;
  /** Lists the tokens of a user that have not expired at `now`, newest first. */
  list(userId: string, now: number): Promise<readonly PersonalToken[]>;
  /** Deletes a token. Resolves to `false` when there is none. */
  delete(id: string): Promise<boolean>;
  /**
   * Records a use of a token that still exists. Resolves to whether it is the first one from this network; of several at once, one is. The
   * last {@link KEPT_NETWORKS} are kept.
   */
  recordUse(id: string, use: PersonalTokenUse): Promise<boolean>;
}

/** How many networks of a token a {@link PersonalTokenStore} keeps. */
export const KEPT_NETWORKS = 20;

/** A personal access token that was just created: with its value, which cannot be shown again. */
export interface NewPersonalToken extends PersonalToken {
  /** The token itself, as requests send it: `Authorization: Bearer <value>`. */
  readonly value: string;
}

/** The personal access tokens of users: `auth.personalTokens`. */
export interface PersonalTokens<Options extends object = object> {
  /**
   * Creates a token. Ask the user for the password before you offer that on pages of your own: the bundled page does.
   *
   * @throws PersonalTokenInvalidError with one entry per mistake, also when the user has as many as allowed
   */
  create(this: void, options: Options): Promise<NewPersonalToken>;
  /** Lists the tokens of a user that work, newest first. */
  list(this: void, userId: string): Promise<readonly PersonalToken[]>;
  /**
   * Ends a token, by its id: at once on this node and on PostgreSQL's others, else within `tokens.revocationLag`. Resolves to `false` when
   * there is none.
   */
  revoke(this: void, id: string): Promise<boolean>;
}
