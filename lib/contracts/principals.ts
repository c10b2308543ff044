import type { Seconds } from './duration.ts';
import type { Client } from './clients.ts';
import type { User } from './people.ts';

/** The source of a permission: assigned directly, or through a role. */
export type PermissionSource = { readonly type: 'direct' } | { readonly type: 'role'; readonly role: string };

/** The API of a guard, for its challenges. */
export interface ChallengedApi {
  /** The URL of the API, which is the `realm`. */
  readonly resource: string;
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly string[] }>;
  /** The URL of the API's metadata; `undefined` when challenges name neither the metadata nor scopes. */
  readonly metadataUrl: string | undefined;
}

interface PrincipalBase<P extends string, S extends object> {
  /** @internal The API of the token; absent for a session, or for a principal that a test has made. */
  readonly api?: ChallengedApi | undefined;
  /**
   * What the request was authenticated with: `access_token`, an access token of a client; `personal_token`, a personal access token of
   * the user (`personalTokens()`); or `session`, the login session of the user's browser, which only guards with `session: true` accept.
   * Only an access token has a client. A session has no scopes, so that all permissions of the user apply.
   */
  readonly credential: 'access_token' | 'session' | (string & {});
  /** The token that the request was authenticated with, if it is not of a client, such as a personal access token. */
  readonly token?: { readonly id: string; readonly name: string } | undefined;
  /**
   * The scopes of the token, without those that the client may no longer request: they limit `permissions`, and an empty list permits
   * nothing. `undefined`: no scopes limit the caller, because the client is registered without a list of scopes and requested none, because
   * the permissions of a personal access token were chosen instead, or because there is a session instead of a token.
   */
  readonly scopes: readonly string[] | undefined;
  /** The roles of the user or the client. To decide about access call `can()`, which also considers the scopes. */
  readonly roles: readonly string[];
  /** The permissions of the caller with this token, limited by its scopes. */
  readonly permissions: ReadonlySet<P>;
  /**
   * All permissions of the user or the client, with their sources. The scopes of this token exclude those that are not in `permissions`.
   */
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
  /**
   * Whether the caller holds a permission. With an object, the rule of the permission has to allow that object too:
   * `can('edit_school')` is true when the caller may edit some schools, `can('edit_school', school)` when this one.
   *
   * @throws ConfigError when the rule does not return a boolean, or, from JavaScript, when the permission has no rule
   */
  can(permission: P): boolean;
  /** Whether the caller holds a permission and its rule allows the object. */
  can<K extends P & keyof S>(permission: K, object: S[K]): boolean;
}

/**
 * A user acting through a client (authorization code, refresh token), by a script (personal access token), or in the user's own browser
 * (login session).
 */
export interface UserPrincipal<
  P extends string = string,
  U extends User = User,
  S extends object = object,
> extends PrincipalBase<P, S> {
  readonly type: 'user';
  readonly user: U;
  /** The client that presented the token; `undefined` when the request was authenticated with a personal access token or a session. */
  readonly client: Client | undefined;
}

/** A client acting for itself (client credentials). */
export interface ClientPrincipal<P extends string = string, S extends object = object> extends PrincipalBase<
  P,
  S
> {
  readonly type: 'client';
  readonly user: undefined;
  readonly client: Client;
}

/** The user or the client that a request is made for. Distinguish them by `type`, never by comparing ids. */
export type Principal<P extends string = string, U extends User = User, S extends object = object> =
  | UserPrincipal<P, U, S>
  | ClientPrincipal<P, S>;

/** The members that the guard sets on `ctx.state`: a user or a client, never both. */
export type GuardedState<P extends string = string, U extends User = User, S extends object = object> =
  | { user: U; client: undefined; principal: UserPrincipal<P, U, S> }
  | { user: undefined; client: Client; principal: ClientPrincipal<P, S> };

/**
 * The access rules of the host: its permissions, the roles that bundle them, and the rules that limit them to objects. Made by
 * `defineGate()`.
 *
 * `P` are the names of the permissions, and `R` the names of the roles. `S` has the type of the object for each permission with a rule,
 * such as `{ edit_school: School }`.
 */
export interface Gate<P extends string = string, R extends string = string, S extends object = object> {
  /** Every permission, with its description and the message of a refusal. */
  readonly permissions: Readonly<Record<P, { readonly description: string; readonly message: string }>>;
  /** Every role, with the permissions that it bundles. */
  readonly roles: Readonly<Record<R, readonly P[]>>;
  /** Whether a name is one of the gate's permissions. */
  has(permission: string): permission is P;
  /** Whether a permission has a rule, which decides about an object. */
  hasRule(permission: string): boolean;
  /**
   * The permissions that these roles and direct permissions give, with their sources. Names that the gate does not know are
   * left out.
   */
  effectivePermissions(assignment: {
    readonly permissions: readonly string[];
    readonly roles: readonly string[];
  }): ReadonlyMap<P, readonly PermissionSource[]>;
  /** Whether a principal holds a permission, as {@link UserPrincipal.can}. */
  can(principal: Principal, permission: P): boolean;
  /**
   * Whether a principal holds a permission and its rule allows the object.
   * @throws ConfigError when the rule does not return a boolean, or, from JavaScript, when the permission has no rule
   */
  can<K extends P & keyof S>(principal: Principal, permission: K, object: S[K]): boolean;
  /**
   * Returns when `can()` is true.
   * @throws GatehouseError `ERR_PERMISSION_MISSING` with the permission's message; `createApiRouter()` responds to it with 403
   */
  authorize(principal: Principal, permission: P): void;
  /**
   * Returns when `can()` with the object is true.
   * @throws GatehouseError `ERR_PERMISSION_MISSING` with the permission's message
   */
  authorize<K extends P & keyof S>(principal: Principal, permission: K, object: S[K]): void;
}

/*
 * Conditional types, which the compiler compares by what they are: by `keyof`, a server with known permissions would not be one of any.
 */

/** The names of the permissions of a gate. */
export type PermissionOf<G extends Gate> = G extends Gate<infer P> ? P : never;

/** The names of the roles of a gate. */
export type RoleOf<G extends Gate> = G extends Gate<string, infer R> ? R : never;

/** The type of the object of each permission of a gate that has a rule. */
export type ObjectsOf<G extends Gate> = G extends Gate<string, string, infer S> ? S : object;

/** The claims of a verified access token (RFC 9068 section 2.2). */
export interface AccessTokenClaims {
  readonly iss: string;
  /** The API, or the userinfo endpoint for a token that has only scopes about who the user is, or both with the API first. */
  readonly aud: string | string[];
  readonly sub: string;
  readonly client_id: string;
  readonly iat: Seconds;
  readonly exp: Seconds;
  readonly jti: string;
  readonly scope?: string | undefined;
  /**
   * `true` when a client that is registered with an empty list of scopes requested the token without scopes, so that it permits nothing.
   */
  readonly limited?: boolean | undefined;
  /** Whether the token speaks for a user or for the client itself. */
  readonly principal: 'user' | 'client';
  /** The grant from which the token was issued; only in tokens of users. */
  readonly grant_id?: string | undefined;
  /**
   * In a token of a client for itself: the sequence number of the client's latest end, see `RevocationStore`. Absent when the client was
   * never ended.
   */
  readonly revocation_sequence?: number | undefined;
  /** The issuer of the assertion that the token was issued for (RFC 7521 section 4.1). */
  readonly asserted_by?: string | undefined;
}

/**
 * Checks signature, type, issuer, audience and times of an access token. Resolves to `undefined` for an invalid token; no input makes it
 * throw.
 */
export type VerifyAccessToken = (
  token: string,
  /** Called with the reason why the token is invalid, where this server has signed it. */
  refused?: (why: TokenRefusal) => void,
) => Promise<AccessTokenClaims | undefined>;

/** Why an access token is invalid, as its holder may learn it. */
export type TokenRefusal =
  /** The token is a JWT of another type, such as an ID token. */
  | { readonly reason: 'type' }
  | { readonly reason: 'expired' }
  /** The token is for another API or of another issuer, which has this URL. */
  | { readonly reason: 'audience' | 'issuer'; readonly url: string };
