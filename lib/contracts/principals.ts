import type { Seconds } from './duration.ts';
import type { Client } from './clients.ts';
import type { User } from './people.ts';

/** The source of a permission: assigned directly, or through a role. */
export type PermissionSource = { readonly type: 'direct' } | { readonly type: 'role'; readonly role: string };

interface PrincipalBase<P extends string, S extends object> {
  /**
   * What the request was authenticated with: an access token of a client, `personal_token`, a personal access token of the user (`personalTokens()`), or the
   * login session of the user's browser, which only guards with `session: true` accept. Only the first has a client. A session has no
   * scopes, so that all permissions of the user apply.
   */
  readonly credential: 'access_token' | 'session' | (string & {});
  /** The token of the user, such as a personal access token, that the request was authenticated with, if it is of no client. */
  readonly token?: { readonly id: string; readonly name: string } | undefined;
  /**
   * The scopes of the token, without those that the client may no longer request. For an empty list see
   * {@link UserPrincipal.limited}.
   */
  readonly scopes: readonly string[];
  /**
   * Whether scopes, or the permissions that were chosen for a personal access token, limit the permissions of the caller. `false`: the
   * client is registered without a list of scopes and requested none, or there is no token but a session. With `true` and no scopes, the
   * caller has no permissions.
   */
  readonly limited: boolean;
  /** The roles of the user or the client. To decide about access call `can()`, which also considers the scopes. */
  readonly roles: readonly string[];
  /** The permissions of the caller with this token, limited by its scopes. */
  readonly permissions: ReadonlySet<P>;
  /**
   * All permissions of the user or the client, with their sources. Those that are not in `permissions` are excluded by the
   * scopes of this token.
   */
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
  /**
   * Whether the caller holds a permission. With a resource, the rule of the permission has to allow that resource too:
   * `can('edit_school')` is true when the caller may edit some schools, `can('edit_school', school)` when this one.
   *
   * @throws ConfigError when the rule does not return a boolean, or, from JavaScript, when the permission has no rule
   */
  can(permission: P): boolean;
  /** Whether the caller holds a permission and its rule allows the resource. */
  can<K extends P & keyof S>(permission: K, resource: S[K]): boolean;
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
  /** The client that presented the token. `undefined`: the request was authenticated with a personal access token, or a session. */
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

/** The user or the client that a request is made for. Told apart by `type`, never by comparing ids. */
export type Principal<P extends string = string, U extends User = User, S extends object = object> =
  | UserPrincipal<P, U, S>
  | ClientPrincipal<P, S>;

/** The members that the guard sets on `ctx.state`: a user or a client, never both. */
export type GuardedState<P extends string = string, U extends User = User, S extends object = object> =
  | { user: U; client: undefined; principal: UserPrincipal<P, U, S> }
  | { user: undefined; client: Client; principal: ClientPrincipal<P, S> };

/**
 * The access rules of the host: its permissions, the roles that bundle them, and the rules that limit them to resources.
 * Made by `defineGate()`.
 *
 * `P` are the names of the permissions, `R` those of the roles, and `S` has the type of the resource of each permission
 * that has a rule, such as `{ edit_school: School }`.
 */
export interface Gate<P extends string = string, R extends string = string, S extends object = object> {
  /** Every permission, with its description and the message of a refusal. */
  readonly permissions: Readonly<Record<P, { readonly description: string; readonly message: string }>>;
  /** Every role, with the permissions that it bundles. */
  readonly roles: Readonly<Record<R, readonly P[]>>;
  /** Whether a name is one of the gate's permissions. */
  has(permission: string): permission is P;
  /** Whether a permission has a rule, so that an object decides too. */
  hasRule(permission: string): boolean;
  /**
   * The permissions that these roles and direct permissions give, with their sources. Names that the gate does not know are
   * left out.
   */
  effective(assignment: {
    readonly permissions: readonly string[];
    readonly roles: readonly string[];
  }): ReadonlyMap<P, readonly PermissionSource[]>;
  /** Whether a principal holds a permission, as {@link UserPrincipal.can}. */
  can(principal: Principal, permission: P): boolean;
  /**
   * Whether a principal holds a permission and its rule allows the resource.
   * @throws ConfigError when the rule does not return a boolean, or, from JavaScript, when the permission has no rule
   */
  can<K extends P & keyof S>(principal: Principal, permission: K, resource: S[K]): boolean;
  /**
   * Returns when `can()` is true.
   * @throws PermissionMissingError with the permission's message; `createApiRouter()` responds to it with 403
   */
  authorize(principal: Principal, permission: P): void;
  /**
   * Returns when `can()` with the resource is true.
   * @throws PermissionMissingError with the permission's message
   */
  authorize<K extends P & keyof S>(principal: Principal, permission: K, resource: S[K]): void;
}

/** The claims of a verified access token (RFC 9068 section 2.2). */
export interface AccessTokenClaims {
  readonly iss: string;
  /** The API; the userinfo endpoint for a token with no other scopes than those about who the user is; both, the API first. */
  readonly aud: string | string[];
  readonly sub: string;
  readonly client_id: string;
  readonly iat: Seconds;
  readonly exp: Seconds;
  readonly jti: string;
  readonly scope?: string | undefined;
  /**
   * `true`: a client that is registered with an empty list of scopes requested it without scopes, so that it permits nothing.
   */
  readonly limited?: boolean | undefined;
  /** Whether the token speaks for a user or for the client itself. */
  readonly principal: 'user' | 'client';
  /** The grant that it was issued from; only in tokens of users. */
  readonly grant_id?: string | undefined;
  /**
   * In a token of a client for itself: the sequence number of the client's latest end, see `RevocationStore`. Left out: the
   * client was never ended.
   */
  readonly revocation_sequence?: number | undefined;
}

/**
 * Checks signature, type, issuer, audience and times of an access token. Resolves to `undefined` for an invalid one; no input
 * makes it throw.
 */
export type VerifyAccessToken = (
  token: string,
  /** Called with why it is invalid, where a token of this server's own signature shows it. */
  refused?: (why: TokenRefusal) => void,
) => Promise<AccessTokenClaims | undefined>;

/** Why an access token is invalid, which its holder may know. */
export type TokenRefusal =
  /** A JWT of another type, such as an ID token. */
  | { readonly reason: 'type' }
  | { readonly reason: 'expired' }
  /** It is for another API, or of another issuer, whose URL this is. */
  | { readonly reason: 'audience' | 'issuer'; readonly url: string };
