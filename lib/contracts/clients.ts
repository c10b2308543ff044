import type { Duration } from './duration.ts';

/**
 * How a client gets its tokens, chosen at creation: people authorize it (RFC 6749 section 4.1), or it acts for itself
 * (section 4.4).
 */
export type ClientGrantType = 'authorization_code' | 'client_credentials';

/**
 * How long what a client gets lives, where that is shorter than the server's `lifetimes`. What is left out is the server's, and
 * when the server's is lowered below a client's, the server's counts.
 */
export interface ClientLifetimes<T = Duration> {
  /** Of each access token. */
  readonly accessToken?: T | undefined;
  /** Of a refresh token that is not used. */
  readonly refreshToken?: T | undefined;
  /** How long an authorization can be refreshed, however often. */
  readonly refreshTokenAbsolute?: T | undefined;
}

/** A registered OAuth client; the pages call it an "app". Times are in seconds since 1970. */
export interface Client {
  /** The `client_id`: a UUID, or what another server gave a client that was imported. */
  readonly id: string;
  readonly name: string;
  readonly grantType: ClientGrantType;
  /** Compared as exact strings (RFC 9700 section 2.1). Empty for client credentials. */
  readonly redirectUris: readonly string[];
  /** `true`: it keeps a secret. `false`: a public client, PKCE required. */
  readonly confidential: boolean;
  /** An installed app: loopback redirect URIs match on any port (RFC 8252 section 7.3) and private-use schemes are allowed. */
  readonly native: boolean;
  /** Of the platform itself: people are not asked for consent, but for where it runs on their devices. */
  readonly firstParty: boolean;
  /**
   * The scopes it may ask for, and gets when it names none. Empty: it gets tokens that may do nothing. `undefined`: every scope
   * the server knows, and without one everything that its user, or it itself, may do.
   */
  readonly scopes: readonly string[] | undefined;
  /** For client credentials: the client's own. With an owner, those count that the owner has too. */
  readonly roles: readonly string[];
  /** For client credentials: what it may do besides its roles. With an owner, those count that the owner holds too. */
  readonly permissions: readonly string[];
  /** Id of the user who owns it in the developer area. For itself it holds no more than they do. */
  readonly ownerId: string | undefined;
  /** `true`: it gets no tokens, and those that it has are refused. */
  readonly disabled: boolean;
  /**
   * Id of the user who disabled it in the developer area, and may enable it again as its owner. `undefined`: a program did,
   * or it is not disabled.
   */
  readonly disabledBy: string | undefined;
  /** In seconds; what is left out is the server's. */
  readonly lifetimes: ClientLifetimes<number>;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/**
 * One of a client's secrets. The value is shown once, at creation; only its SHA-256 is kept. Times are in seconds since
 * 1970.
 */
export interface ClientSecret {
  readonly id: string;
  /**
   * SHA-256 of the value, base64url; or, until it is first used, the bcrypt hash that it was imported with: `$2a$`,
   * `$2b$` or `$2y$`, of cost 15 at most. A value of more than 72 bytes, or with a NUL in it, is none that such a hash was made
   * of: bcrypt would take others for it.
   */
  readonly hash: string;
  /** What people call it, such as "production, May". */
  readonly label: string;
  /** The last four characters of the value, so that people can tell secrets apart. */
  readonly hint: string;
  readonly createdAt: number;
  /** `undefined`: never. */
  readonly expiresAt: number | undefined;
  /** To the minute. `undefined`: it was never used. */
  readonly lastUsedAt: number | undefined;
}

/** A client together with its secrets, as one read. Expired ones are among them. */
export interface StoredClient {
  readonly client: Client;
  readonly secrets: readonly ClientSecret[];
  /** The number of the client's latest end, see `RevocationStore`; 0 when there was none. */
  readonly sequence: number;
}

/** Which clients to list. Members that are left out match everything. */
export interface ClientQuery {
  /** Part of a name, any case. */
  readonly search?: string | undefined;
  /** Id of the user who owns them. */
  readonly ownerId?: string | undefined;
  /** The id of the last client of the page before. When it has been deleted since, the page is empty. */
  readonly after?: string | undefined;
  /** 1 to 200. @default 50 */
  readonly limit?: number | undefined;
}

/** Keeps clients and their secrets: the `clients` of a {@link Storage}. Times are in seconds since 1970. */
export interface ClientStore {
  /** Finds a client, disabled ones too. Its oldest secret comes first. */
  find(id: string): Promise<StoredClient | undefined>;
  /**
   * Adds a client with its first secrets: both or neither.
   * @throws StorageError when the id is there already, as every insert of a known id
   */
  insert(client: Client, secrets: readonly ClientSecret[]): Promise<void>;
  /**
   * Replaces the client's fields. Resolves to `false` when there is no such client, or when it was not last updated at
   * the given time: somebody else has changed it meanwhile.
   */
  update(client: Client, ifUpdatedAt?: number): Promise<boolean>;
  /**
   * Deletes the client and its secrets and ends it (see `RevocationStore.end`), at once; then its consents and grants,
   * in batches. After an error, calling again deletes the rest (and resolves to `false`).
   */
  delete(id: string): Promise<boolean>;
  /** Ordered by name without regard to case, then id. */
  list(query: ClientQuery): Promise<readonly Client[]>;
  /** Resolves to `false` when there is no such client. */
  addSecret(clientId: string, secret: ClientSecret): Promise<boolean>;
  /** Resolves to `false` when that client has no such secret. */
  deleteSecret(clientId: string, secretId: string): Promise<boolean>;
  /** Lets a secret expire at a time, unless it expires before. */
  expireSecret(clientId: string, secretId: string, expiresAt: number): Promise<void>;
  /** Notes that a secret was used. May be lossy; never blocks a token. */
  touchSecret(clientId: string, secretId: string, at: number): Promise<void>;
  /** Replaces a secret's hash, if it is still the given one. */
  rehashSecret(clientId: string, secretId: string, hashes: { from: string; to: string }): Promise<boolean>;
}

/** What can be said about a client when it is registered. */
export interface ClientFields<P extends string = string, R extends string = string> {
  /** 1 to 100 characters; people see it on the consent page. */
  readonly name: string;
  /** How it gets tokens; cannot be changed later. */
  readonly grantType: ClientGrantType;
  /** 1 to 100 for `authorization_code`, refused for `client_credentials`. Matched as exact strings (RFC 9700 section 2.1). */
  readonly redirectUris?: readonly string[];
  /** `false`: it cannot keep a secret (browser or installed app), and must use PKCE. @default true */
  readonly confidential?: boolean;
  /** An installed app: loopback redirect URIs match on any port, and schemes of its own are allowed. @default false */
  readonly native?: boolean;
  /** The platform's own: people are not asked for consent. @default false */
  readonly firstParty?: boolean;
  /** The scopes it may ask for, and gets when it names none; empty: none. @default all, and without one no limit */
  readonly scopes?: readonly string[] | undefined;
  /** For `client_credentials`: its roles. */
  readonly roles?: readonly R[];
  /** For `client_credentials`: what it may do besides its roles. */
  readonly permissions?: readonly P[];
  /** Id of the user who owns it. */
  readonly ownerId?: string | undefined;
  /**
   * Lifetimes of its own, such as `{ accessToken: '15 minutes' }`, each at most the server's; those of refresh tokens are for
   * `authorization_code`. A change replaces all of them, and counts from the next token on. @default the server's
   */
  readonly lifetimes?: ClientLifetimes;
}

/** What can be changed of a client. */
export type ClientChanges<P extends string = string, R extends string = string> = Partial<
  Omit<ClientFields<P, R>, 'grantType'>
>;

/** A secret together with its value, which is shown this once. */
export interface NewSecret extends ClientSecret {
  /** What the client sends as `client_secret`. Nobody can read it again. */
  readonly value: string;
}

/**
 * The registered clients. Every change is checked, and takes effect on this node at once.
 *
 * Every method throws `StorageError` when the storage cannot be reached.
 */
export interface ClientRegistry<P extends string = string, R extends string = string> {
  /**
   * Registers a client, with a UUID for its `client_id`. A confidential one gets its first secret, whose `value` is given out
   * here and never again; a public one gets none.
   * @throws ClientInvalidError with one entry per mistake
   */
  create(fields: ClientFields<P, R>): Promise<{ client: Client; secret: NewSecret | undefined }>;
  /** Finds a client by its `client_id`, disabled ones too. */
  find(id: string): Promise<Client | undefined>;
  /**
   * Clients by name, a page at a time: 1 to 200, 50 unless told.
   * @throws ClientInvalidError with one entry per mistake
   */
  list(query?: ClientQuery): Promise<readonly Client[]>;
  /**
   * Changes the given fields; the grant type stays. Of two changes at once each keeps its fields.
   *
   * @param changes - or a function that makes them out of the client: it is called again when somebody else has changed
   * the client before they are saved, and nothing is saved when it throws
   * @throws ClientInvalidError with one entry per mistake
   * @throws ClientNotFoundError when there is no such client
   */
  update(
    id: string,
    changes: ClientChanges<P, R> | ((client: Client) => ClientChanges<P, R>),
  ): Promise<Client>;
  /**
   * Stops the client and its tokens until it is enabled again.
   * @throws ClientNotFoundError when there is no such client
   */
  disable(id: string): Promise<Client>;
  /**
   * Takes `disable()` back: those of its tokens that have not expired work again.
   * @throws ClientNotFoundError when there is no such client
   */
  enable(id: string): Promise<Client>;
  /** Deletes the client with its secrets, consents and grants. `false`: there is none. */
  delete(id: string): Promise<boolean>;
  /**
   * The client's secrets, oldest first and expired ones too; values are not kept.
   * @throws ClientNotFoundError when there is no such client
   */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret beside those that are live, 20 at most: rotation without downtime is add, deploy, delete. When there is
   * no room, those that have expired are deleted first.
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
  /** Deletes a secret, which stops at once. `false`: the client has no such secret. */
  deleteSecret(id: string, secretId: string): Promise<boolean>;
  /**
   * Replaces all secrets by a new one.
   *
   * @param options.label - a label, at most 100 characters. Left out: none
   * @param options.overlap - for how long the old ones are taken still, such as `'1 hour'`. Left out: they stop at once
   * @throws ClientInvalidError as `addSecret`, and for an overlap that is no duration
   * @throws ClientNotFoundError when there is no such client
   */
  rotateSecret(
    id: string,
    options?: { label?: string | undefined; overlap?: Duration | undefined },
  ): Promise<NewSecret>;
}

/** The registry as the developer area uses it: what a person may do with a client depends on what it is at that moment. */
export interface CheckedClientRegistry extends ClientRegistry {
  /**
   * As `disable()` and `enable()`.
   *
   * @param check - is given the very client that is changed, again when somebody else has changed it meanwhile; nothing is
   * saved when it throws
   */
  setDisabled(id: string, disabled: boolean, check: (client: Client) => void): Promise<Client>;
}
