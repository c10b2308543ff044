/**
 * The ports: what the rooms of this package ask of each other and of a host. Types only.
 *
 * Times are whole seconds since 1970 (RFC 7519 NumericDate) unless a name says otherwise. Ids of credentials in the
 * storage are SHA-256 hashes: no port below ever receives a code, a refresh token, a secret or a session id as such.
 */
import type { Context, Middleware } from 'koa';

// --- people ---------------------------------------------------------------------------------------------------------

/** A person of the host. Gatehouse reads these members and passes the object on as it is. */
export interface User {
  /** Never reused, never empty, at most 255 characters. The `sub` of the user's tokens. */
  readonly id: string;
  readonly name?: string | undefined;
  readonly email?: string | undefined;
}

/** The host's people: who they are, whether a password is right, what they may do. */
export interface UserStore<U extends User = User> {
  /**
   * Checks a login and a password from the login page.
   *
   * Takes the same time for an unknown login as for a wrong password (hash a dummy), and resolves to `undefined` for both.
   */
  authenticate(login: string, password: string): Promise<U | undefined>;
  /** Finds a user by id. `undefined` for one who is gone or may no longer sign in: their tokens stop working. */
  find(id: string): Promise<U | undefined>;
  /** The permissions that the user holds directly. */
  permissions(user: U): Promise<readonly string[]>;
  /** The user's roles; the gate knows which permissions each one holds. */
  roles?(user: U): Promise<readonly string[]>;
}

// --- clients --------------------------------------------------------------------------------------------------------

/** How a client gets its tokens, chosen at creation (spec section 2.1). */
export type ClientGrantType = 'authorization_code' | 'client_credentials';

/** A registered OAuth client; the pages call it an "app". */
export interface Client {
  /** The `client_id`: a UUID. */
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
  /** SHA-256 of the value, base64url. */
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
  /** Replaces the client's fields; resolves to `false` when there is no such client. */
  update(client: Client): Promise<boolean>;
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
  /** Notes that a secret was used. May be lossy; never blocks a token. */
  touchSecret(clientId: string, secretId: string, at: number): Promise<void>;
}

// --- grants, codes and tokens ---------------------------------------------------------------------------------------

/** A user's remembered "Authorize": one per user and client, across sessions and browsers. */
export interface Consent {
  readonly userId: string;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number;
}

export interface ConsentStore {
  find(userId: string, clientId: string): Promise<Consent | undefined>;
  /** Inserts, or replaces all but `createdAt` of the one that is there. Two tabs saving at once leave one row. */
  save(consent: Consent): Promise<void>;
  remove(userId: string, clientId: string): Promise<boolean>;
  list(userId: string): Promise<readonly Consent[]>;
}

/** What one authorization allowed: the parent of one code and of every token that came from it (the "family"). */
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

/** Something whose tokens must stop working although they are signed and unexpired. */
export interface Revocation {
  readonly kind: 'token' | 'grant' | 'client';
  /** The `jti`, the grant id, or the client id (then: its client-credentials tokens issued until `revokedAt`). */
  readonly value: string;
  readonly revokedAt: number;
  /** When the last token it concerns has expired, so that the row can be pruned. */
  readonly expiresAt: number;
}

export interface RevocationStore {
  /** Inserts, or moves the times of the one that is there to the later ones. */
  add(revocation: Revocation): Promise<void>;
  /** Those of the given keys that are revoked, in one read. */
  among(keys: readonly Pick<Revocation, 'kind' | 'value'>[]): Promise<readonly Revocation[]>;
  /** All with `revokedAt` at or after the given time, for the other nodes. */
  since(time: number): Promise<readonly Revocation[]>;
}

export interface GrantStore {
  find(id: string): Promise<Grant | undefined>;
  list(userId: string): Promise<readonly Grant[]>;
  /**
   * Marks grants as revoked and records a {@link Revocation} for each, every grant together with its record. Very many
   * go in batches: after an error, calling again revokes the rest.
   * Resolves to the ids of those that were live until now.
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
  readonly expiresAt: number;
  /** When it was spent, in milliseconds: finer than the rest, because a retry and a replay differ by little. */
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

export interface CredentialStore {
  /** Saves a code and the grant it starts: both or neither. */
  start(grant: Grant, code: Credential): Promise<void>;
  /** Finds a credential, spent and expired ones too, with its grant, as one read. Those of a revoked grant are not found. */
  find(kind: Credential['kind'], id: string): Promise<{ credential: Credential; grant: Grant } | undefined>;
  /**
   * Spends a credential and saves its successor, as one transaction with exactly one winner, whatever the number of
   * callers, processes and nodes. `redeemed` is given to one caller ever; only then the successor is saved.
   */
  redeem(
    spent: Pick<Credential, 'kind' | 'id'>,
    exchange: {
      /** In milliseconds. */
      at: number;
      successor?: Credential | undefined;
      sealedSuccessor?: string | undefined;
      /** When the access token that is given along expires: the grant is kept until then at least. */
      neededUntil?: number | undefined;
    },
  ): Promise<Redemption>;
}

// --- sessions, interactions, keys -----------------------------------------------------------------------------------

/** A row that expires. */
export interface StoredRecord {
  /** SHA-256 of the id that the browser holds, base64url. */
  readonly id: string;
  /** JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  readonly expiresAt: number;
}

/** An open login or consent. */
export interface InteractionStore {
  /** Inserts or replaces. */
  save(record: StoredRecord): Promise<void>;
  find(id: string): Promise<StoredRecord | undefined>;
  remove(id: string): Promise<void>;
}

/** A browser's login session. */
export interface StoredSession extends StoredRecord {
  /** SHA-256 of the session's `uid`, a second name that is not a credential. */
  readonly uid: string;
  readonly userId: string | undefined;
}

export interface SessionStore {
  save(session: StoredSession): Promise<void>;
  find(id: string): Promise<StoredSession | undefined>;
  findByUid(uid: string): Promise<StoredSession | undefined>;
  remove(id: string): Promise<void>;
  /** Ends all sessions of a user. Resolves to their number. */
  removeOfUser(userId: string): Promise<number>;
}

/** A secret of the server itself, shared by all nodes: a key that signs tokens, or one that signs cookies. */
export interface StoredKey {
  /** The `kid` of a signing key. */
  readonly id: string;
  readonly use: 'token' | 'cookie';
  /** 1, 2, 3 ... per use: two nodes that make a key at the same time make the same generation, and one of them loses. */
  readonly generation: number;
  /** The JWK as JSON text, or that text encrypted under the key-encryption key. */
  readonly material: string;
  readonly createdAt: number;
  /** From when it signs. */
  readonly activeAt: number;
  /** Until when tokens signed with it are accepted; `undefined` while it is the newest. */
  readonly retiresAt: number | undefined;
}

export interface KeyStore {
  /** All keys of one use, oldest generation first. */
  list(use: StoredKey['use']): Promise<readonly StoredKey[]>;
  /** Adds a key; resolves to `false`, adding nothing, when its use has that generation already. */
  add(key: StoredKey): Promise<boolean>;
  /** Sets when a key retires. */
  retire(id: string, retiresAt: number): Promise<void>;
  remove(id: string): Promise<void>;
}

// --- storage --------------------------------------------------------------------------------------------------------

/** Something that an operator should look at, with its remedy. */
export interface Finding {
  readonly code: string;
  readonly severity: 'error' | 'warning';
  readonly message: string;
  readonly remedy: string;
}

/**
 * Everything Gatehouse keeps. `knexStorage()` and `memoryStorage()` provide it; the contract suite in
 * `koa-gatehouse/testing` tells whether another one does.
 *
 * Every method may throw `StorageError` when the storage cannot be reached; nothing else for well-formed input.
 * Rows past `expiresAt` may still be returned: the caller compares.
 */
export interface Storage {
  readonly clients: ClientStore;
  readonly consents: ConsentStore;
  readonly grants: GrantStore;
  readonly credentials: CredentialStore;
  readonly revocations: RevocationStore;
  readonly sessions: SessionStore;
  readonly interactions: InteractionStore;
  readonly keys: KeyStore;
  /** Creates the tables or brings them up to date. Safe to call from several nodes at once. */
  migrate(): Promise<void>;
  /** Names of the migrations that have not run; empty when the storage is ready. */
  pendingMigrations(): Promise<readonly string[]>;
  /**
   * Removes up to `limit` rows that expired before `now` and that nothing live depends on.
   * Resolves to how many it removed; call again until 0.
   */
  prune(now: number, limit: number): Promise<number>;
  /** Releases what the storage itself opened. A connection that was handed in stays open. */
  close(): Promise<void>;
}

// --- who calls ------------------------------------------------------------------------------------------------------

/** Where a permission comes from. */
export type PermissionSource = 'direct' | `role:${string}`;

interface PrincipalBase<P extends string> {
  /** The client that presented the token. */
  readonly client: Client;
  /** The scopes of the token; empty when none was granted. */
  readonly scopes: readonly string[];
  readonly roles: readonly string[];
  /** What the caller may do with this token, scopes considered. */
  readonly permissions: ReadonlySet<P>;
  /** Tells whether the caller holds a permission. */
  can(permission: P): boolean;
}

/** A person acting through a client (authorization code, refresh token). */
export interface UserPrincipal<P extends string = string, U extends User = User> extends PrincipalBase<P> {
  readonly type: 'user';
  readonly user: U;
}

/** A client acting as itself (client credentials). */
export interface ClientPrincipal<P extends string = string> extends PrincipalBase<P> {
  readonly type: 'client';
  readonly user: undefined;
}

/** The user or the client that a token speaks for. Told apart by `type`, never by comparing ids. */
export type Principal<P extends string = string, U extends User = User> =
  | UserPrincipal<P, U>
  | ClientPrincipal<P>;

/** What the guard puts on `ctx.state`: a user or a client, never both. */
export type GuardedState<P extends string = string, U extends User = User> =
  | { user: U; client: undefined; principal: UserPrincipal<P, U> }
  | { user: undefined; client: Client; principal: ClientPrincipal<P> };

/** Who may do what: the permissions there are, and the roles that bundle them. Made by `defineGate()`. */
export interface Gate<P extends string = string, R extends string = string> {
  /** Every permission, with the words for people. */
  readonly permissions: Readonly<Record<P, { readonly description: string; readonly message: string }>>;
  readonly roles: Readonly<Record<R, readonly P[]>>;
  /** Tells whether a name is one of the gate's permissions. */
  has(permission: string): permission is P;
  /** What a holder of these roles and direct permissions may do. Names that the gate does not know are left out. */
  effective(held: {
    permissions: readonly string[];
    roles: readonly string[];
  }): ReadonlyMap<P, PermissionSource>;
}

/** The claims of a verified access token (RFC 9068 section 2.2). */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly client_id: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly scope?: string | undefined;
  /** Whether the token speaks for a user or for the client itself. */
  readonly principal: 'user' | 'client';
  /** The grant it came from; tokens of users only. */
  readonly grant_id?: string | undefined;
}

/** Checks signature, type, issuer, audience and time of an access token. Resolves to `undefined` for a bad one; never throws for input. */
export type VerifyAccessToken = (token: string) => Promise<AccessTokenClaims | undefined>;

// --- pages ----------------------------------------------------------------------------------------------------------

/** An open login or consent, as a page sees it. */
export interface Interaction {
  readonly uid: string;
  readonly prompt: 'login' | 'consent';
  readonly client: Client;
  /** Who is logged in; absent on the login page. */
  readonly user: User | undefined;
  /** The requested scopes in words; empty when none was asked for. */
  readonly scopes: readonly { readonly name: string; readonly description: string }[];
  /** Where the browser goes afterwards. */
  readonly redirectUri: string;
  readonly loginHint: string | undefined;
  /** Where the page's form posts to. */
  readonly action: string;
  /** Whether "Not you?" can be offered: `false` when the host's own session decides who is logged in. */
  readonly canSwitchUser: boolean;
}

/** What the pages may ask of the engine. Each step resolves to the URL to redirect to with 303. */
export interface InteractionFlow {
  /** The server's origin, such as `https://platform.example`: from the issuer, never from the `Host` header. */
  readonly origin: string;
  /** The path in front of the server's own paths: the issuer's, or `''`. */
  readonly basePath: string;
  /** The interaction of this browser and this URL. Throws `InteractionExpiredError` when there is none. */
  find(ctx: Context, uid: string): Promise<Interaction>;
  /** Asks the user store. `undefined`: unknown or wrong. */
  authenticate(ctx: Context, login: string, password: string): Promise<User | undefined>;
  /** Ends the login with this user. */
  login(ctx: Context, interaction: Interaction, user: User): Promise<string>;
  /** Remembers the consent and goes on. */
  consent(ctx: Context, interaction: Interaction): Promise<string>;
  /** Goes back to the client with `access_denied`. */
  deny(ctx: Context, interaction: Interaction): Promise<string>;
  /** "Not you?": starts the same request again with the login page. */
  switchUser(ctx: Context, interaction: Interaction): Promise<string>;
  /** When the host knows who is logged in, the login page is not needed: resolves to where to go instead of showing it. */
  skipLogin(ctx: Context, interaction: Interaction): Promise<string | undefined>;
  /** Who is logged in on this browser. */
  currentUser(ctx: Context): Promise<User | undefined>;
  /** Ends the login session, in the storage and in the browser. */
  logout(ctx: Context): Promise<void>;
}

/** What the error page has to say. */
export interface PageError {
  readonly status: number;
  /** The OAuth error code, such as `invalid_redirect_uri`; or `interaction_expired`, which is a code of ours. */
  readonly error: string;
  /** For a developer; plain text. */
  readonly description: string;
  /** Finds the log line. */
  readonly reference: string;
}

/** Every page a person sees, mounted by `auth.middleware()`. */
export interface Pages {
  /** Answers below `/oauth/interaction`, `/oauth/logout` and `/oauth/assets`; anything else falls through. */
  readonly middleware: Middleware;
  /** Shows an error to a person, with the given status. */
  error(ctx: Context, error: PageError): Promise<void>;
}

/** Makes the pages. `pages()` of `koa-gatehouse/interactions` is the one that is bundled. */
export type Interactions = (flow: InteractionFlow) => Pages;

// --- logs -----------------------------------------------------------------------------------------------------------

/** A pino-shaped logger. Gatehouse never hands it a credential. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}
