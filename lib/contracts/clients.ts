/** How a client gets its tokens, chosen at creation (spec section 2.1). */
export type ClientGrantType = 'authorization_code' | 'client_credentials';

/** A registered OAuth client; the pages call it an "app". */
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
  /** Of the platform itself: people are not asked for consent. */
  readonly firstParty: boolean;
  /** The scopes it may ask for; `undefined`: every scope the server knows. */
  readonly scopes: readonly string[] | undefined;
  /** For client credentials: what the client itself may do. */
  readonly roles: readonly string[];
  readonly permissions: readonly string[];
  /** Id of the user who owns it in the developer area. */
  readonly ownerId: string | undefined;
  readonly disabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** One of a client's secrets. The value is shown once, at creation; only its SHA-256 is kept. */
export interface ClientSecret {
  readonly id: string;
  /**
   * SHA-256 of the value, base64url; or, until it is first used, the bcrypt hash that it was imported with: `$2a$`,
   * `$2b$` or `$2y$`, of cost 15 at most. bcrypt looks at the first 72 bytes of a value only.
   */
  readonly hash: string;
  /** What people call it, such as "production, May". */
  readonly label: string;
  /** The last four characters of the value, so that people can tell secrets apart. */
  readonly hint: string;
  readonly createdAt: number;
  readonly expiresAt: number | undefined;
  readonly lastUsedAt: number | undefined;
}

/** A client together with its live secrets, as one read. */
export interface StoredClient {
  readonly client: Client;
  readonly secrets: readonly ClientSecret[];
}

/** A page of a list. */
export interface ClientQuery {
  /** Part of a name, any case. */
  readonly search?: string | undefined;
  readonly ownerId?: string | undefined;
  /** The id of the last client of the page before. */
  readonly after?: string | undefined;
  /** @default 50 */
  readonly limit?: number | undefined;
}

export interface ClientStore {
  find(id: string): Promise<StoredClient | undefined>;
  /** @throws StorageError when the id is there already, as every insert of a known id */
  insert(client: Client, secrets: readonly ClientSecret[]): Promise<void>;
  /**
   * Replaces the client's fields. Resolves to `false` when there is no such client, or when it was not last updated at
   * the given time: somebody else has changed it meanwhile.
   */
  update(client: Client, ifUpdatedAt?: number): Promise<boolean>;
  /**
   * Removes the client and its secrets at once, then its consents and grants, in batches. After an error, calling again
   * removes the rest (and resolves to `false`).
   */
  remove(id: string): Promise<boolean>;
  /** Ordered by name without regard to case, then id. */
  list(query: ClientQuery): Promise<readonly Client[]>;
  /** Resolves to `false` when there is no such client. */
  addSecret(clientId: string, secret: ClientSecret): Promise<boolean>;
  removeSecret(clientId: string, secretId: string): Promise<boolean>;
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
  /** Required for `authorization_code`, refused for `client_credentials`. Matched as exact strings. */
  readonly redirectUris?: readonly string[];
  /** `false`: it cannot keep a secret (browser or installed app), and must use PKCE. @default true */
  readonly confidential?: boolean;
  /** An installed app: loopback redirect URIs match on any port, and schemes of its own are allowed. @default false */
  readonly native?: boolean;
  /** The platform's own: people are not asked for consent. @default false */
  readonly firstParty?: boolean;
  /** The scopes it may ask for. @default all */
  readonly scopes?: readonly string[] | undefined;
  /** For `client_credentials`: its roles. */
  readonly roles?: readonly R[];
  /** For `client_credentials`: what it may do besides its roles. */
  readonly permissions?: readonly P[];
  /** Id of the user who owns it. */
  readonly ownerId?: string | undefined;
}

/** What can be changed of a client. */
export type ClientChanges<P extends string = string, R extends string = string> = Partial<
  Omit<ClientFields<P, R>, 'grantType'>
>;

/** A secret and its value, which is shown this once. */
export interface NewSecret {
  readonly secret: ClientSecret;
  /** What the client sends as `client_secret`. Nobody can read it again. */
  readonly value: string;
}

/** The registered clients. Every change is checked, and takes effect on this node at once. */
export interface ClientRegistry<P extends string = string, R extends string = string> {
  /**
   * Registers a client. A confidential one gets its first secret, whose value is given out here and never again.
   * @throws ClientInvalidError with one entry per mistake
   */
  create(fields: ClientFields<P, R>): Promise<{ client: Client; secret: string | undefined }>;
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
   */
  update(
    id: string,
    changes: ClientChanges<P, R> | ((client: Client) => ClientChanges<P, R>),
  ): Promise<Client>;
  /** Stops the client and its tokens until it is enabled again. */
  disable(id: string): Promise<Client>;
  enable(id: string): Promise<Client>;
  /** Removes the client with its secrets, consents and grants. `false`: there is none. */
  delete(id: string): Promise<boolean>;
  /** The client's secrets; values are not kept. */
  secrets(id: string): Promise<readonly ClientSecret[]>;
  /**
   * Adds a secret beside those that are live, 20 at most: rotation without downtime is add, deploy, remove.
   * @throws ClientInvalidError for a label of more than 100 characters, an expiry (in seconds since 1970) that has
   * passed, a public client, or too many secrets
   */
  addSecret(
    id: string,
    options?: { label?: string | undefined; expiresAt?: number | undefined },
  ): Promise<NewSecret>;
  removeSecret(id: string, secretId: string): Promise<boolean>;
  /** Replaces all secrets by a new one. The old ones stop at once, or after `overlap` seconds. */
  rotateSecret(
    id: string,
    options?: { label?: string | undefined; overlap?: number | undefined },
  ): Promise<NewSecret>;
}
