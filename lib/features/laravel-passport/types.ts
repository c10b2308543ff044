import type { Seconds } from '../../contracts/duration.ts';

/** A client of Laravel Passport, in one form for all of its versions. */
export interface PassportClient {
  /** A number as text, or a UUID. */
  readonly id: string;
  readonly name: string;
  /** The secret as it is stored, in plain text or hashed; `undefined` for a public client. */
  readonly secret: string | undefined;
  readonly redirectUris: readonly string[];
  /** Stored from version 13 on; when it is `undefined`, the grant types follow from the other members. */
  readonly grantTypes: readonly string[] | undefined;
  /** Whether the client issues personal access tokens. Used before version 13; from then on `grantTypes` says it. */
  readonly personalAccess: boolean;
  /** Whether the client uses the password grant (RFC 6749 section 4.3). Used before version 13; from then on `grantTypes` says it. */
  readonly password: boolean;
  readonly scopes: readonly string[] | undefined;
  /** The name of the user provider, when the app has several. */
  readonly provider: string | undefined;
  readonly owner: { readonly id: string; readonly type: string | undefined } | undefined;
  readonly revoked: boolean;
  readonly createdAt: Seconds | undefined;
}

/** What the tables of Passport say of an access token. */
export interface PassportAccessToken {
  readonly clientId: string;
  /** `undefined` for a token of the client for itself. */
  readonly userId: string | undefined;
  /** Whether it is a personal access token, which has a name. */
  readonly isPersonal: boolean;
  /** Whether neither the token nor its client is revoked, and the client is for the users of the source's `provider`. */
  readonly isLive: boolean;
}

/** What the tables of Passport say of a refresh token. */
export interface PassportRefreshToken {
  /** Whether neither the token nor its client is revoked, and the client is for the users of the source's `provider`. */
  readonly isLive: boolean;
  /**
   * The earliest time at which the token may have been issued, because Laravel stores times without their zone; `undefined` when the row
   * of its access token was purged.
   */
  readonly issuedAfter: Seconds | undefined;
}

/** The tokens of a user for a client that are not revoked. */
export interface PassportAuthorization {
  readonly clientId: string;
  /** The lists of scopes of these tokens, each different list once. */
  readonly scopes: readonly (readonly string[])[];
  /** When the first token was issued; exact if Laravel's times are in UTC. */
  readonly since: Seconds;
}

/** The number of live tokens of a client and of a kind. A live token is neither revoked nor expired. */
export interface PassportTokenCount {
  /** `undefined` for refresh tokens whose access tokens were purged, so that no row says whose they are. */
  readonly clientId: string | undefined;
  /** An access token of a `user`, a `personal` one, or one of a `client` for itself; or a `refresh` token. */
  readonly kind: 'client' | 'personal' | 'refresh' | 'user';
  readonly count: number;
  /** When the last token ends; exact if Laravel's times are in UTC. */
  readonly lastEnd: Seconds;
}

/** The use of a token of Passport at this server. */
export interface PassportUse {
  /** The id of the token, which is no credential. */
  readonly id: string;
  readonly clientId: string;
  readonly kind: PassportTokenCount['kind'];
  readonly at: Seconds;
}

/** How many tokens of a client and of a kind were used. */
export interface PassportUseCount extends Pick<PassportUse, 'clientId' | 'kind'> {
  readonly lastDay: number;
  readonly lastWeek: number;
}

/** What a storage has about Passport: which of Passport's tokens were used, and what this server knows of them. */
export interface PassportStore {
  /** Records the latest use of each token. Can be repeated. Uses may be pruned after a week. */
  record(uses: readonly PassportUse[]): Promise<void>;
  /** Counts the tokens that were used within a day, and within a week, before `at`. */
  count(at: Seconds): Promise<readonly PassportUseCount[]>;
  /** Stores a mark until a time; see `claimId` and `disconnectionId`. Can be repeated. */
  mark(id: string, expiresAt: Seconds): Promise<void>;
  isMarked(id: string): Promise<boolean>;
  /**
   * Whether a user was ended since a token was issued; or has disconnected a client, and Passport was not told of that yet; or whether
   * the mark, where one is given, is stored.
   */
  hasEnded(token: {
    readonly userId: string;
    readonly clientId: string;
    readonly sequence: number;
    readonly mark: string | undefined;
  }): Promise<boolean>;
}

/** For how long a use is kept, in seconds. */
export const PASSPORT_USE_KEPT: Seconds = 7 * 86_400;

/** Which rows of Passport to mark as revoked: an access token with its refresh tokens, or all of a user, a client, or both. */
export type PassportSelector =
  | { readonly accessTokenId: string }
  | { readonly userId?: string | undefined; readonly clientId?: string | undefined };

/**
 * The clients and tokens of a Laravel app that uses Passport, versions 8 to 13. Ids are text, as the app has them.
 *
 * Every method throws `ConfigError` when the database has no tables of Passport, and `StorageError` when it cannot be read.
 */
export interface LaravelPassportSource {
  /** How many clients there are, revoked ones too. */
  countClients(): Promise<number>;
  /** All clients in the order of their ids, read 500 at a time. */
  clients(): AsyncIterable<PassportClient>;
  /** Checks the tables of the tokens, and finds out whether their rows may be changed. */
  check(): Promise<{ readonly writable: boolean }>;
  /** Counts the live tokens by client and kind, those of revoked clients too. Reads the whole tables, for a minute each at most. */
  countTokens(): Promise<readonly PassportTokenCount[]>;
  /** The scopes that live access tokens name, in the order of their names. Reads the whole table, for a minute at most. */
  liveScopes(): Promise<readonly string[]>;
  /** Finds an access token by its `jti`. Resolves to `undefined` when the token has no row, which means that it is revoked. */
  findAccessToken(id: string): Promise<PassportAccessToken | undefined>;
  /** Finds a refresh token of a client. Resolves to `undefined` when the token has no row, which means that it is revoked. */
  findRefreshToken(id: string, clientId: string): Promise<PassportRefreshToken | undefined>;
  /** Lists the clients that have unrevoked tokens of a user. */
  authorizations(userId: string, clientId?: string): Promise<readonly PassportAuthorization[]>;
  /**
   * Marks a refresh token and its access token as revoked. Among all callers, exactly one ever gets `true`; this includes the app itself,
   * if it also marks them in one conditional write.
   */
  redeemRefreshToken(id: string, accessTokenId: string): Promise<boolean>;
  /** Marks tokens as revoked. Can be repeated. */
  revoke(selector: PassportSelector): Promise<void>;
  /** Marks a client as revoked or not. */
  setClientRevoked(id: string, revoked: boolean): Promise<void>;
  /** Closes the connections that were opened here; a Knex instance of the host stays open. */
  close(): Promise<void>;
}
