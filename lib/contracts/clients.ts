import type { FurtherClientFields } from './client-fields.ts';
import type { Duration, Seconds } from './duration.ts';

/**
 * How a client gets its tokens, chosen at creation. An `authorization_code` client is authorized by users (RFC 6749 section 4.1). A
 * `client_credentials` client acts for itself (section 4.4). Features add others.
 */
export type ClientGrantType = 'authorization_code' | 'client_credentials' | (string & {});

/**
 * The lifetimes of a client's tokens, where they are shorter than the server's `lifetimes`. For a member that is left out, the server's
 * lifetime applies; also when the server's lifetime is lowered below the client's.
 */
export interface ClientLifetimes<T = Duration> {
  /** The lifetime of each access token. */
  readonly accessToken?: T | undefined;
  /** The lifetime of a refresh token that is not used. */
  readonly refreshToken?: T | undefined;
  /** How long an authorization can be refreshed in total, from the consent on. */
  readonly refreshTokenAbsolute?: T | undefined;
}

/** The public keys of a client: a JWK Set (RFC 7517 section 5), or the https URL of one. */
export type ClientKeys =
  | { readonly jwks: { readonly keys: readonly Readonly<Record<string, unknown>>[] } }
  | { readonly jwksUri: string };

/** A registered OAuth client; the pages call it an "app". */
export interface Client extends FurtherClientFields {
  /**
   * The `client_id`. It is a UUID; for an imported client, the id at the other server; for a client with a metadata document, the URL of
   * the document.
   */
  readonly id: string;
  readonly name: string;
  /** The URL of the client's homepage (RFC 7591 section 2). */
  readonly clientUri: string | undefined;
  /** The SHA-256 of the client's logo, base64url; `undefined` when it has none. `ClientStore.findLogo` reads the picture. */
  readonly logoHash: string | undefined;
  /**
   * Whether the platform vouches for the name, the homepage and the logo, which users then see as the platform's word. Otherwise users
   * see the host of the homepage as not verified, and no logo.
   */
  readonly verified: boolean;
  /**
   * How the client became known. `manual` means that people of the platform, or a program of theirs, have registered it. Features add
   * others.
   */
  readonly source: 'manual' | (string & {});
  readonly grantType: ClientGrantType;
  /** Compared as exact strings (RFC 9700 section 2.1). Empty unless the grant type is `authorization_code`. */
  readonly redirectUris: readonly string[];
  /** `true` when the client authenticates with a secret or a key; `false` for a public client, which has to use PKCE. */
  readonly confidential: boolean;
  /**
   * The public keys for the client assertions that the client signs: `private_key_jwt` (OpenID Connect Core 1.0 section 9, RFC 7523).
   * While the client also has secrets, both are accepted.
   */
  readonly keys: ClientKeys | undefined;
  /**
   * Whether it is an installed app: loopback redirect URIs match on any port (RFC 8252 section 7.3) and private-use schemes are allowed.
   */
  readonly native: boolean;
  /**
   * Whether the client belongs to the platform itself: users are not asked for consent, except by a client without a secret for redirects
   * that stay on their machines.
   */
  readonly firstParty: boolean;
  /**
   * The scopes that the client may request, and that a request without `scope` gets. With an empty list, its tokens permit nothing. With
   * `undefined`, it may request every scope of the server, and a token without scopes permits all that its user, or the client itself,
   * may do.
   */
  readonly scopes: readonly string[] | undefined;
  /**
   * The scopes that a request without `scope` gets, for a client that cannot know which scopes are meant for it; `undefined` for all its
   * scopes. Of other scopes that it requests, it gets those that it may have. The source of the client sets this; it is not stored.
   */
  readonly defaultScopes?: readonly string[] | undefined;
  /** The roles of a client with client credentials. When it has an owner, only permissions that the owner also holds are effective. */
  readonly roles: readonly string[];
  /**
   * The permissions of a client with client credentials, besides those of its roles. When it has an owner, only permissions that the
   * owner also holds are effective.
   */
  readonly permissions: readonly string[];
  /** Id of the user who owns the client in the developer area. The client itself never holds more permissions than its owner. */
  readonly ownerId: string | undefined;
  /** Whether the client is disabled: it gets no tokens, and its existing tokens are refused. */
  readonly disabled: boolean;
  /**
   * Id of the user who disabled the client in the developer area; `undefined` when a program disabled it, or when it is not disabled. The
   * owner may enable it again only when this is the owner's id.
   */
  readonly disabledBy: string | undefined;
  /** For a member that is left out, the server's lifetime applies. */
  readonly lifetimes: ClientLifetimes<Seconds>;
  readonly createdAt: Seconds;
  readonly updatedAt: Seconds;
}

/** One of a client's secrets. The value is shown once, at creation; only its SHA-256 hash is stored. */
export interface ClientSecret {
  readonly id: string;
  /** A name for people, such as "production, May". */
  readonly label: string;
  /** The last four characters of the value, by which people tell secrets apart. */
  readonly hint: string;
  readonly createdAt: Seconds;
  /** `undefined` when the secret does not expire. */
  readonly expiresAt: Seconds | undefined;
  /** The time of the last use, to the minute; `undefined` when the secret was never used. */
  readonly lastUsedAt: Seconds | undefined;
}

/** A secret as it is stored, which no host is given. */
export interface StoredSecret extends ClientSecret {
  /**
   * SHA-256 of the value, base64url; or, until the secret is first used, the bcrypt hash that it was imported with: `$2a$`,
   * `$2b$` or `$2y$`, with a cost of at most 15. A presented value of more than 72 bytes, or with a NUL, never matches a bcrypt
   * hash, because bcrypt does not distinguish such values.
   */
  readonly hash: string;
}

/** A client together with its secrets, expired ones included, from one read. */
export interface StoredClient {
  readonly client: Client;
  readonly secrets: readonly StoredSecret[];
  /** The sequence number of the latest `RevocationStore.revokeAllOf` of the client or of all; 0 when there was none. */
  readonly sequence: number;
}

/** Selects clients, one page. Members that are left out match everything. */
export interface ClientQuery {
  /**
   * Text with which the name, or one of its words, begins, in any case; it may extend over further words. It may also be a whole client
   * id.
   *
   * A word begins with a letter or digit after another character, and with a capital letter after a small one. In scripts without spaces,
   * such as Chinese, Japanese and Thai, every character begins a word. The first 30 words of a name are compared.
   */
  readonly search?: string | undefined;
  /** Id of the user who owns the clients. */
  readonly ownerId?: string | undefined;
  /**
   * The id of the last client of the previous page. When that client has been deleted since, or renamed so that the search does not
   * find it, the page is empty.
   */
  readonly after?: string | undefined;
  /** The number of clients, 1 to 200. @default 50 */
  readonly limit?: number | undefined;
}

/** Stores clients and their secrets: the `clients` of a {@link Storage}. */
export interface ClientStore {
  /** Finds a client, disabled ones included. Its secrets are ordered oldest first. */
  find(id: string): Promise<StoredClient | undefined>;
  /**
   * Adds a client with its first secrets: both or neither.
   * @throws StorageError when a client with this id exists
   */
  insert(client: Client, secrets: readonly StoredSecret[]): Promise<void>;
  /**
   * Replaces the client's fields, except its `logo`, which has to be the stored one. Resolves to `false` when there is no such client, or
   * when its `updatedAt` is not `ifUpdatedAt`, because a concurrent request has changed it.
   */
  update(client: Client, ifUpdatedAt?: Seconds): Promise<boolean>;
  /**
   * Replaces the client's fields as `update` does and, in the same step, its logo. The new `logo` is the hash of the picture; without a
   * picture, the client has no logo any more.
   */
  updateLogo(client: Client, picture: Uint8Array | undefined, ifUpdatedAt?: Seconds): Promise<boolean>;
  /** Finds the logo of a client by its hash, the client's `logo`. No other method reads or returns logos. */
  findLogo(clientId: string, hash: string): Promise<Uint8Array | undefined>;
  /**
   * Deletes the client with its secrets, and ends it (see `RevocationStore.revokeAllOf`) in one step; then deletes its consents and
   * grants in batches. After an error, a second call deletes the rest (and resolves to `false`).
   *
   * @param ifUpdatedAt - when the client's `updatedAt` is different, or there is no such client, nothing is deleted and the call resolves
   * to `false`
   */
  delete(id: string, ifUpdatedAt?: Seconds): Promise<boolean>;
  /**
   * Lists clients by name without regard to case, then by id. With a search, the client with this id comes first; the others follow, each
   * once, ordered by the name from the word on that the search has found.
   */
  list(query: ClientQuery): Promise<readonly Client[]>;
  /** Adds a secret. Resolves to `false` when there is no such client. */
  addSecret(clientId: string, secret: StoredSecret): Promise<boolean>;
  /** Deletes a secret. Resolves to `false` when the client has no such secret. */
  deleteSecret(clientId: string, secretId: string): Promise<boolean>;
  /** Makes a secret expire at a time, unless it expires earlier. */
  expireSecret(clientId: string, secretId: string, expiresAt: Seconds): Promise<void>;
  /** Records when a secret was last used. May lose a record; no token request waits for it. */
  touchSecret(clientId: string, secretId: string, at: Seconds): Promise<void>;
  /** Replaces a secret's hash if it is still `hashes.from`. Resolves to `false` when it is not. */
  rehashSecret(clientId: string, secretId: string, hashes: { from: string; to: string }): Promise<boolean>;
  /**
   * Records that a client assertion (RFC 7523) was used, so that each is accepted once on all nodes. Exactly one of any number of
   * concurrent callers gets `true`; every other and later one gets `false`, until the row is pruned.
   *
   * @param id - SHA-256 of the client and the `jti`, base64url
   * @param expiresAt - the time from which on the assertion is refused because it has expired
   */
  redeemAssertion(id: string, expiresAt: Seconds): Promise<boolean>;
}
