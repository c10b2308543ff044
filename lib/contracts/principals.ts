import type { Client } from './clients.ts';
import type { User } from './people.ts';

/** Where a permission comes from: it is held by itself, or through a role. */
export type PermissionSource = { readonly type: 'direct' } | { readonly type: 'role'; readonly role: string };

interface PrincipalBase<P extends string, S extends object> {
  /** The client that presented the token. */
  readonly client: Client;
  /**
   * The scopes that limit the token: those that it was issued with, as far as the client may still have them. Empty when
   * there are none; {@link UserPrincipal.limited} tells what that means.
   */
  readonly scopes: readonly string[];
  /**
   * Whether scopes limit what the caller may do. `false`: the client is registered without a list of scopes and asked for
   * none. With `true` and no scopes, the caller may do nothing.
   */
  readonly limited: boolean;
  /** The roles that the user or the client holds. Ask `can()`, not these, what the caller may do. */
  readonly roles: readonly string[];
  /** What the caller may do with this token, scopes considered. */
  readonly permissions: ReadonlySet<P>;
  /**
   * Everything that the user or the client holds, and every place it comes from. What is in here and not in
   * `permissions`, the scopes of this token keep back.
   */
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
  /**
   * Tells whether the caller holds a permission. With a resource, the permission's rule must admit the caller to it too:
   * `can('edit_school')` asks for somebody who may edit some school, `can('edit_school', school)` for this one.
   *
   * @throws ConfigError when the rule gives no boolean, or, from JavaScript, when the permission has no rule
   */
  can(permission: P): boolean;
  /** Tells whether the caller holds a permission and its rule admits them to a resource. */
  can<K extends P & keyof S>(permission: K, resource: S[K]): boolean;
}

/** A person acting through a client (authorization code, refresh token). */
export interface UserPrincipal<
  P extends string = string,
  U extends User = User,
  S extends object = object,
> extends PrincipalBase<P, S> {
  readonly type: 'user';
  readonly user: U;
}

/** A client acting as itself (client credentials). */
export interface ClientPrincipal<P extends string = string, S extends object = object> extends PrincipalBase<
  P,
  S
> {
  readonly type: 'client';
  readonly user: undefined;
}

/** The user or the client that a token speaks for. Told apart by `type`, never by comparing ids. */
export type Principal<P extends string = string, U extends User = User, S extends object = object> =
  | UserPrincipal<P, U, S>
  | ClientPrincipal<P, S>;

/** What the guard puts on `ctx.state`: a user or a client, never both. */
export type GuardedState<P extends string = string, U extends User = User, S extends object = object> =
  | { user: U; client: undefined; principal: UserPrincipal<P, U, S> }
  | { user: undefined; client: Client; principal: ClientPrincipal<P, S> };

/**
 * Who may do what: the permissions there are, the roles that bundle them, and the rules that narrow them to resources.
 * Made by `defineGate()`.
 *
 * `P` are the names of the permissions, `R` those of the roles, and `S` has the type of the resource of each permission
 * that has a rule, such as `{ edit_school: School }`.
 */
export interface Gate<P extends string = string, R extends string = string, S extends object = object> {
  /** Every permission, with the words for people. */
  readonly permissions: Readonly<Record<P, { readonly description: string; readonly message: string }>>;
  /** Every role, with the permissions that it bundles. */
  readonly roles: Readonly<Record<R, readonly P[]>>;
  /** Tells whether a name is one of the gate's permissions. */
  has(permission: string): permission is P;
  /** What a holder of these roles and direct permissions may do, and why. Names that the gate does not know are left out. */
  effective(assignment: {
    readonly permissions: readonly string[];
    readonly roles: readonly string[];
  }): ReadonlyMap<P, readonly PermissionSource[]>;
  /** Tells whether somebody holds a permission: {@link UserPrincipal.can}. */
  can(principal: Principal, permission: P): boolean;
  /**
   * Tells whether somebody holds a permission and its rule admits them to a resource.
   * @throws ConfigError when the rule gives no boolean, or, from JavaScript, when the permission has no rule
   */
  can<K extends P & keyof S>(principal: Principal, permission: K, resource: S[K]): boolean;
  /**
   * Returns if `can()` says yes.
   * @throws PermissionMissingError with the permission's message; `createApiRouter()` answers it with 403
   */
  authorize(principal: Principal, permission: P): void;
  /**
   * Returns if `can()` with the resource says yes.
   * @throws PermissionMissingError with the permission's message
   */
  authorize<K extends P & keyof S>(principal: Principal, permission: K, resource: S[K]): void;
}

/** The claims of a verified access token (RFC 9068 section 2.2). Times are in seconds since 1970. */
export interface AccessTokenClaims {
  readonly iss: string;
  readonly aud: string;
  readonly sub: string;
  readonly client_id: string;
  readonly iat: number;
  readonly exp: number;
  readonly jti: string;
  readonly scope?: string | undefined;
  /** `true`: it was asked for without scopes by a client that is registered for none, and may do nothing. */
  readonly limited?: boolean | undefined;
  /** Whether the token speaks for a user or for the client itself. */
  readonly principal: 'user' | 'client';
  /** The grant it came from; tokens of users only. */
  readonly grant_id?: string | undefined;
  /**
   * Of a client's own token: how often anybody had been ended when the client was last, see `RevocationStore`. Left out: the
   * client never was.
   */
  readonly revocation_sequence?: number | undefined;
}

/** Checks signature, type, issuer, audience and time of an access token. Resolves to `undefined` for a bad one; never throws for input. */
export type VerifyAccessToken = (token: string) => Promise<AccessTokenClaims | undefined>;
