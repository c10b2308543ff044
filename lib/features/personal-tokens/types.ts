import type { Seconds } from '../../contracts/index.ts';

/** A personal access token as it is stored, and as it is listed. Its value is not stored. */
export interface PersonalToken {
  /** Not a credential: it names the token in lists, in the audit log and at introspection (`jti`). */
  readonly id: string;
  readonly userId: string;
  /** The user's own words for the token, such as "Nightly import". */
  readonly name: string;
  /** The API that the token is for; `undefined` for the default API, the server's own. */
  readonly resource: string | undefined;
  /** The scopes that the token is limited to; `undefined` when its API has no scopes, and {@link PersonalToken.permissions} limit it. */
  readonly scopes: readonly string[] | undefined;
  /**
   * The permissions that the token is limited to, where its API has no scopes. With an empty list, it says who the user is and permits
   * nothing.
   */
  readonly permissions: readonly string[] | undefined;
  readonly createdAt: Seconds;
  readonly expiresAt: Seconds;
  /** The time of the last use, to the hour; `undefined` when the token was never used. */
  readonly lastUsedAt: Seconds | undefined;
  /** The IP address of the last use. */
  readonly lastUsedFrom: string | undefined;
}

/** A personal access token to store. */
export interface NewPersonalTokenRow extends Omit<PersonalToken, 'lastUsedAt' | 'lastUsedFrom'> {
  /** SHA-256 of the value, base64url. */
  readonly hash: string;
  /**
   * `RevocationStore.latestSequence` before the login, or the call, by which the token is created: it is never valid when its user, or
   * all, were ended since.
   */
  readonly sequence: number;
}

/** Where and when a personal access token was used. */
export interface PersonalTokenUse {
  readonly at: Seconds;
  readonly address: string;
  /** The network of the address, such as `192.0.2.0/24`. */
  readonly network: string;
}

/**
 * Stores personal access tokens. A token whose user, or all, were ended after it began (see
 * `RevocationStore`) is never found, listed or counted.
 */
export interface PersonalTokenStore {
  /**
   * Inserts a token, unless its user has `limit` tokens; tokens that have expired at `now` do not count. However many calls run at once,
   * on any number of nodes, no more succeed than the limit allows. Resolves to `false` when the limit is reached. When the user was ended
   * after the token's `sequence`, nothing is stored, and the call resolves to `true`.
   */
  insert(
    token: NewPersonalTokenRow,
    bound: { readonly limit: number; readonly now: Seconds },
  ): Promise<boolean>;
  /** Finds a token by the hash of its value, expired ones included. */
  findByHash(hash: string): Promise<PersonalToken | undefined>;
  /** Finds a token by its id, expired ones included. */
  find(id: string): Promise<PersonalToken | undefined>;
  /** Lists the tokens of a user that have not expired at `now`, newest first. */
  list(userId: string, now: Seconds): Promise<readonly PersonalToken[]>;
  /** Deletes a token. Resolves to `false` when there is none. */
  delete(id: string): Promise<boolean>;
  /**
   * Records a use of a token that still exists. Resolves to whether it is the first use from this network; among concurrent uses, only
   * one is the first. The last 20 networks are kept.
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

/** A scope or a permission that a personal access token can be limited to. */
export interface TokenChoice {
  readonly name: string;
  readonly description: string;
}

/** The personal access tokens of one user, for the pages. Durations are in seconds. */
export interface OwnPersonalTokens {
  /** `false` when the gate has the permission `use_personal_tokens` and the user does not hold it. */
  readonly mayUse: boolean;
  readonly maxLifetime: Seconds;
  readonly perUser: number;
  /** The APIs that a token can be for, the default API first, with the choices that can limit a token. */
  readonly apis: readonly {
    /** `undefined` for the default API. */
    readonly resource: string | undefined;
    readonly name: string;
    /** Whether the choices are scopes of the API or, where it has no scopes, permissions of the user. */
    readonly kind: 'scope' | 'permission';
    readonly choices: readonly TokenChoice[];
  }[];
  /** Whether the user has given the password a short time ago (the option `loginAge`). */
  isLoginFresh(): Promise<boolean>;
  /** Lists the tokens that work, newest first. */
  list(): Promise<readonly PersonalToken[]>;
  /**
   * Creates a token.
   *
   * @param token.chosen - the names of choices of its API
   * @param once - a random string in the form, by which a form that is posted several times creates one token only
   * @returns `undefined` when an earlier post of the form has created the token, or is about to
   * @throws ValidationError with one entry per mistake; GatehouseError `ERR_LOGIN_REQUIRED` without a fresh login; GatehouseError `ERR_PERMISSION_MISSING`
   * unless the user may use such tokens
   */
  create(
    token: {
      readonly name: string;
      readonly lifetime: Seconds;
      readonly resource: string | undefined;
      readonly chosen: readonly string[];
    },
    once: string,
  ): Promise<NewPersonalToken | undefined>;
  /** Revokes a token of the user. Resolves to `false` when there is none. */
  revoke(id: string): Promise<boolean>;
}

/** The personal access tokens of users: `auth.personalTokens`. */
export interface PersonalTokens<Options extends object = object> {
  /**
   * Creates a token. Ask the user for the password before you offer this on pages of your own, as the bundled page does.
   *
   * @throws ValidationError with one entry per mistake, also when the user has as many as allowed
   */
  create(this: void, options: Options): Promise<NewPersonalToken>;
  /** Lists the tokens of a user that work, newest first. */
  list(this: void, userId: string): Promise<readonly PersonalToken[]>;
  /**
   * Revokes a token by its id: at once on this node and, with PostgreSQL, on the other nodes, otherwise within `tokens.revocationLag`.
   * Resolves to `false` when there is none.
   */
  revoke(this: void, id: string): Promise<boolean>;
}

declare module '../../contracts/user-data.ts' {
  interface FeatureUserGrants {
    readonly personalTokens: readonly PersonalToken[];
  }
  interface FeatureGrantTargets {
    personalTokens: { readonly personalTokenId: string };
  }
  interface FeatureUserExports {
    readonly personalTokens: readonly PersonalToken[];
  }
}
