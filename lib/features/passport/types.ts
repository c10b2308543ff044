import type { Seconds } from '../../contracts/duration.ts';

/** A client of Laravel Passport, in one form for all of its versions. */
export interface PassportClient {
  /** A number as text, or a UUID. */
  readonly id: string;
  readonly name: string;
  /** As it is stored: in plain text, or hashed. `undefined`: a public client. */
  readonly secret: string | undefined;
  readonly redirectUris: readonly string[];
  /** From version 13 on. `undefined`: the grant types follow from the other members. */
  readonly grantTypes: readonly string[] | undefined;
  /** Whether it issues personal access tokens. Used before version 13; from then on it is in `grantTypes`. */
  readonly personalAccess: boolean;
  /** Whether it uses the password grant (RFC 6749 section 4.3). Used before version 13; from then on it is in `grantTypes`. */
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
  /** `undefined`: a token of the client for itself. */
  readonly userId: string | undefined;
  /** A personal access token: it has a name. */
  readonly isPersonal: boolean;
  /** Neither it nor its client is revoked, and its client is for the users of the source's `provider`. */
  readonly isLive: boolean;
}

/** What the tables of Passport say of a refresh token. */
export interface PassportRefreshToken {
  /** Neither it nor its client is revoked, and its client is for the users of the source's `provider`. */
  readonly isLive: boolean;
  /**
   * Not before this time was it issued: Laravel stores times without their zone. `undefined`: the row of
   * its access token was purged.
   */
  readonly issuedAfter: Seconds | undefined;
}

/** The tokens of a user for a client that are not revoked. */
export interface PassportConnection {
  readonly clientId: string;
  /** The scopes of each of them: different lists, each once. */
  readonly scopes: readonly (readonly string[])[];
  /** When the first one was issued; as exact as the zone of Laravel's times is UTC. */
  readonly since: Seconds;
}

/** The live tokens of a client and of a kind: neither revoked nor expired. */
export interface PassportTokenCount {
  /** `undefined`: refresh tokens whose access tokens were purged, so that no row says whose they are. */
  readonly clientId: string | undefined;
  /** An access token of a `user`, a `personal` one, or one of a `client` for itself; or a `refresh` token. */
  readonly kind: 'client' | 'personal' | 'refresh' | 'user';
  readonly count: number;
  /** When the last one ends; as exact as the zone of Laravel's times is UTC. */
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

/** What a storage has of Passport: which of its tokens were used, and what this server knows of them. */
export interface PassportStore {
  /** Records uses, of each token the latest. Can be repeated. They may be pruned after a week. */
  record(uses: readonly PassportUse[]): Promise<void>;
  /** Counts the tokens that were used within a day, and within a week, before `at`. */
  count(at: Seconds): Promise<readonly PassportUseCount[]>;
  /** Stores a mark until a time; see `claimId` and `disconnectionId`. Can be repeated. */
  mark(id: string, expiresAt: Seconds): Promise<void>;
  isMarked(id: string): Promise<boolean>;
  /**
   * Whether a user was ended since a token was issued, or has disconnected a client, and Passport was not told of that yet; or a mark says
   * it, where one is given.
   */
  hasEnded(token: {
    readonly userId: string;
    readonly clientId: string;
    readonly sequence: number;
    readonly mark: string | undefined;
  }): Promise<boolean>;
}

/** In seconds. */
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
export interface PassportSource {
  /** How many clients there are, revoked ones too. */
  count(): Promise<number>;
  /** All clients in the order of their ids, read 500 at a time. */
  clients(): AsyncIterable<PassportClient>;
  /** Checks the tables of the tokens, and finds out whether their rows may be changed. */
  check(): Promise<{ readonly isWritable: boolean }>;
  /** Counts the live tokens by client and kind, those of revoked clients too. Reads the whole tables, for a minute each at most. */
  countTokens(): Promise<readonly PassportTokenCount[]>;
  /** The scopes that live access tokens name, in the order of their names. Reads the whole table, for a minute at most. */
  liveScopes(): Promise<readonly string[]>;
  /** Finds an access token by its `jti`. `undefined`: there is no row of it, so it is revoked. */
  findAccessToken(id: string): Promise<PassportAccessToken | undefined>;
  /** Finds a refresh token of a client. `undefined`: there is no row of it, so it is revoked. */
  findRefreshToken(id: string, clientId: string): Promise<PassportRefreshToken | undefined>;
  /** Lists the clients that have tokens of a user which are not revoked. */
  connections(userId: string, clientId?: string): Promise<readonly PassportConnection[]>;
  /**
   * Marks a refresh token and its access token as revoked. Of all callers, exactly one ever gets `true`, the app itself included as
   * far as it marks them in one conditional write too.
   */
  redeemRefreshToken(id: string, accessTokenId: string): Promise<boolean>;
  /** Marks tokens as revoked. Can be repeated. */
  revoke(selector: PassportSelector): Promise<void>;
  /** Marks a client as revoked or not. */
  setClientRevoked(id: string, revoked: boolean): Promise<void>;
  /** Closes the connections that were opened here; a Knex instance of the host stays open. */
  close(): Promise<void>;
}
