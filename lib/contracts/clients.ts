import type { Duration } from './duration.ts';

/**
 * How a client gets its tokens, chosen at creation. `authorization_code`: users authorize it (RFC 6749 section 4.1).
 * `client_credentials`: it acts for itself (section 4.4).
 */
export type ClientGrantType = 'authorization_code' | 'client_credentials';

/**
 * The lifetimes of a client's tokens, where they are shorter than the server's `lifetimes`. A member that is left out is the
 * server's. When the server's lifetime is lowered below the client's, the server's applies.
 */
export interface ClientLifetimes<T = Duration> {
  /** Of each access token. */
  readonly accessToken?: T | undefined;
  /** Of a refresh token that is not used. */
  readonly refreshToken?: T | undefined;
  /** How long an authorization can be refreshed in total, from the consent on. */
  readonly refreshTokenAbsolute?: T | undefined;
}

/** A registered OAuth client; the pages call it an "app". Times are in seconds since 1970. */
export interface Client {
  /** The `client_id`: a UUID, or for an imported client the id that the other server gave it. */
  readonly id: string;
  readonly name: string;
  readonly grantType: ClientGrantType;
  /** Compared as exact strings (RFC 9700 section 2.1). Empty for client credentials. */
  readonly redirectUris: readonly string[];
  /** `true`: it authenticates with a secret. `false`: a public client, which has to use PKCE. */
  readonly confidential: boolean;
  /** An installed app: loopback redirect URIs match on any port (RFC 8252 section 7.3) and private-use schemes are allowed. */
  readonly native: boolean;
  /** Belongs to the platform itself: users are not asked for consent, except where it runs on their devices. */
  readonly firstParty: boolean;
  /**
   * The scopes that it may request, and that a request without `scope` gets. Empty: its tokens permit nothing. `undefined`: it
   * may request every scope of the server, and a token without scopes permits all that its user, or the client itself, may do.
   */
  readonly scopes: readonly string[] | undefined;
  /**
   * For client credentials: the roles of the client. With an owner, only permissions that the owner also holds are effective.
   */
  readonly roles: readonly string[];
  /**
   * For client credentials: permissions besides those of its roles. With an owner, only those that the owner also holds are
   * effective.
   */
  readonly permissions: readonly string[];
  /** Id of the user who owns it in the developer area. The client itself never holds more permissions than its owner. */
  readonly ownerId: string | undefined;
  /** `true`: it gets no tokens, and its existing tokens are refused. */
  readonly disabled: boolean;
  /**
   * Id of the user who disabled it in the developer area. The owner may enable it again only when this is the owner's id.
   * `undefined`: a program disabled it, or it is not disabled.
   */
  readonly disabledBy: string | undefined;
  /** In seconds. A member that is left out is the server's. */
  readonly lifetimes: ClientLifetimes<number>;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * One of a client's secrets. The value is shown once, at creation; only its SHA-256 hash is stored. Times are in seconds since
 * 1970.
 */
export interface ClientSecret {
  readonly id: string;
  /**
   * SHA-256 of the value, base64url; or, until the secret is first used, the bcrypt hash that it was imported with: `$2a$`,
   * `$2b$` or `$2y$`, with a cost of at most 15. A presented value of more than 72 bytes, or with a NUL, never matches a bcrypt
   * hash, because bcrypt does not distinguish such values.
   */
  readonly hash: string;
  /** A name for people, such as "production, May". */
  readonly label: string;
  /** The last four characters of the value, by which people tell secrets apart. */
  readonly hint: string;
  readonly createdAt: number;
  /** `undefined`: it does not expire. */
  readonly expiresAt: number | undefined;
  /** To the minute. `undefined`: it was never used. */
  readonly lastUsedAt: number | undefined;
}

/** A client together with its secrets, expired ones included, from one read. */
export interface StoredClient {
  readonly client: Client;
  readonly secrets: readonly ClientSecret[];
  /** The sequence number of the latest `RevocationStore.end` of the client or of all; 0 when there was none. */
  readonly sequence: number;
}

/** Selects clients, one page. Members that are left out match everything. */
export interface ClientQuery {
  /** Part of the name, in any case. */
  readonly search?: string | undefined;
  /** Id of the user who owns the clients. */
  readonly ownerId?: string | undefined;
  /** The id of the last client of the previous page. When that client has been deleted since, the page is empty. */
  readonly after?: string | undefined;
  /** The number of clients, 1 to 200. @default 50 */
  readonly limit?: number | undefined;
}

/** Stores clients and their secrets: the `clients` of a {@link Storage}. Times are in seconds since 1970. */
export interface ClientStore {
  /** Finds a client, disabled ones included. Its secrets are ordered oldest first. */
  find(id: string): Promise<StoredClient | undefined>;
  /**
   * Adds a client with its first secrets: both or neither.
   * @throws StorageError when a client with this id exists
   */
  insert(client: Client, secrets: readonly ClientSecret[]): Promise<void>;
  /**
   * Replaces the client's fields. Resolves to `false` when there is no such client, or when its `updatedAt` is not
   * `ifUpdatedAt`, because a concurrent request has changed it.
   */
  update(client: Client, ifUpdatedAt?: number): Promise<boolean>;
  /**
   * Deletes the client with its secrets and ends it (see `RevocationStore.end`) in one step; then deletes its consents and
   * grants in batches. After an error, a second call deletes the rest (and resolves to `false`).
   */
  delete(id: string): Promise<boolean>;
  /** Ordered by name without regard to case, then id. */
  list(query: ClientQuery): Promise<readonly Client[]>;
  /** Resolves to `false` when there is no such client. */
  addSecret(clientId: string, secret: ClientSecret): Promise<boolean>;
  /** Resolves to `false` when that client has no such secret. */
  deleteSecret(clientId: string, secretId: string): Promise<boolean>;
  /** Makes a secret expire at a time, unless it expires earlier. */
  expireSecret(clientId: string, secretId: string, expiresAt: number): Promise<void>;
  /** Records when a secret was last used. May lose a record; no token request waits for it. */
  touchSecret(clientId: string, secretId: string, at: number): Promise<void>;
  /** Replaces a secret's hash if it is still `hashes.from`. Resolves to `false` when it is not. */
  rehashSecret(clientId: string, secretId: string, hashes: { from: string; to: string }): Promise<boolean>;
}

/** The fields to register a client with. */
export interface ClientFields<P extends string = string, R extends string = string> {
  /** The name that users see on the consent page: 1 to 100 characters. */
  readonly name: string;
  /** How it gets tokens; cannot be changed later. */
  readonly grantType: ClientGrantType;
  /** 1 to 100 for `authorization_code`, refused for `client_credentials`. Matched as exact strings (RFC 9700 section 2.1). */
  readonly redirectUris?: readonly string[];
  /** `false`: it cannot store a secret (a browser or installed app), and must use PKCE. @default true */
  readonly confidential?: boolean;
  /** An installed app: loopback redirect URIs match on any port, and private-use URI schemes are allowed. @default false */
  readonly native?: boolean;
  /** Belongs to the platform itself: users are not asked for consent, except where it runs on their devices. @default false */
  readonly firstParty?: boolean;
  /**
   * The scopes that it may request, and that a request without `scope` gets; empty: none.
   * @default all, and without one no limit
   */
  readonly scopes?: readonly string[] | undefined;
  /** For `client_credentials`: its roles. */
  readonly roles?: readonly R[];
  /** For `client_credentials`: permissions besides those of its roles. */
  readonly permissions?: readonly P[];
  /** Id of the user who owns it. */
  readonly ownerId?: string | undefined;
  /**
   * Lifetimes of the client's tokens, such as `{ accessToken: '15 minutes' }`, each at most the server's; those of refresh
   * tokens are for `authorization_code`. A change replaces all of them and applies from the next token on.
   * @default the server's
   */
  readonly lifetimes?: ClientLifetimes;
}

/** The fields of a client that can be changed: all but the grant type. */
export type ClientChanges<P extends string = string, R extends string = string> = Partial<
  Omit<ClientFields<P, R>, 'grantType'>
>;

/** A new secret together with its value, which is available only once. */
export interface NewSecret extends ClientSecret {
  /** The `client_secret` that the client sends. It cannot be read again, because only its hash is stored. */
  readonly value: string;
}

/**
 * The registered clients. Every change is checked, and takes effect on this node at once, on the others within `revocationLag`.
 *
 * Every method throws `StorageError` when the storage cannot be reached.
 */
export interface ClientRegistry<P extends string = string, R extends string = string> {
  /**
   * Registers a client, with a UUID as its `client_id`. A confidential client gets its first secret, whose `value` is returned
   * here only; a public client gets none.
   * @throws ClientInvalidError with one entry per mistake
   */
  create(fields: ClientFields<P, R>): Promise<{ client: Client; secret: NewSecret | undefined }>;
  /** Finds a client by its `client_id`, disabled ones included. */
  find(id: string): Promise<Client | undefined>;
  /**
   * Lists clients by name, one page of 1 to 200, by default 50.
   * @throws ClientInvalidError with one entry per mistake
   */
  list(query?: ClientQuery): Promise<readonly Client[]>;
  /**
   * Changes the given fields; the grant type cannot change. Concurrent changes of different fields are all saved.
   *
   * @param changes - the new values, or a function that returns them for the current client. The function is called again when
   * a concurrent request has changed the client before the values are saved; when it throws, nothing is saved
   * @throws ClientInvalidError with one entry per mistake
   * @throws ClientNotFoundError when there is no such client
   */
  update(
    id: string,
    changes: ClientChanges<P, R> | ((client: Client) => ClientChanges<P, R>),
  ): Promise<Client>;
  /**
   * Disables the client: it gets no tokens, and its tokens are refused, until it is enabled again.
   * @throws ClientNotFoundError when there is no such client
   */
  disable(id: string): Promise<Client>;
  /**
   * Enables a disabled client: its tokens that have not expired are accepted again.
   * @throws ClientNotFoundError when there is no such client
   */
  enable(id: string): Promise<Client>;
  /** Deletes the client with its secrets, consents and grants. Resolves to `false` when there is no such client. */
  delete(id: string): Promise<boolean>;
  /**
   * Lists the client's secrets without their values, oldest first, expired ones included.
   * @throws ClientNotFoundError when there is no such client
   */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret; the existing ones stay valid, so that a rotation without downtime is: add, deploy, delete the old one. A
   * client has at most 20; at the limit, expired secrets are deleted first.
   *
   * @param options.label - a label, at most 100 characters. Left out: none
   * @param options.expiresAt - in seconds since 1970. Left out: it does not expire
   * @throws ClientInvalidError for a label that is too long, an expiry that has passed, a public client, or too many
   * secrets
   * @throws ClientNotFoundError when there is no such client
   */
  addSecret(
    id: string,
    options?: { label?: string | undefined; expiresAt?: number | undefined },
  ): Promise<NewSecret>;
  /** Deletes a secret; requests with it are refused at once. Resolves to `false` when the client has no such secret. */
  deleteSecret(id: string, secretId: string): Promise<boolean>;
  /**
   * Replaces all secrets by a new one.
   *
   * @param options.label - a label, at most 100 characters. Left out: none
   * @param options.overlap - how long the old secrets stay valid, such as `'1 hour'`. Left out: they are deleted at once
   * @throws ClientInvalidError as `addSecret`, and for an overlap that is not a duration
   * @throws ClientNotFoundError when there is no such client
   */
  rotateSecret(
    id: string,
    options?: { label?: string | undefined; overlap?: Duration | undefined },
  ): Promise<NewSecret>;
}

/** The registry for the developer area, where a user's rights to a client depend on the client's state when it is saved. */
export interface CheckedClientRegistry extends ClientRegistry {
  /**
   * As `disable()` and `enable()`.
   *
   * @param check - called with the client as it is before the change, and again when a concurrent request has changed it;
   * nothing is saved when it throws
   */
  setDisabled(id: string, disabled: boolean, check: (client: Client) => void): Promise<Client>;
}
