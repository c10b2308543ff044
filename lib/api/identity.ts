import type { Middleware } from 'koa';

import type { GuardedState, PermissionSource, Principal } from '../contracts/index.ts';

/** The data of `GET /identity`. Users and clients have the same members, so that a client needs no distinction. */
export interface Identity {
  readonly type: 'user' | 'client';
  /** The id of the user or the client. */
  readonly id: string;
  readonly name: string | null;
  /** The email address of the user; `null` for a client, and for a user without one. */
  readonly email: string | null;
  readonly roles: readonly string[];
  /** The permissions of this token, sorted. */
  readonly permissions: readonly string[];
  /** The sources of each permission, such as `[{ "type": "role", "role": "registrar" }]`. */
  readonly permission_sources: Readonly<Record<string, readonly PermissionSource[]>>;
  /** Permissions of the user or the client that the scopes of this token exclude, sorted. */
  readonly withheld_permissions: readonly string[];
  readonly scopes: readonly string[];
  /** The client that presented the token; `null` for a user in a login session. */
  readonly client_id: string | null;
}

/** Answers `GET /identity`. */
export const identity: Middleware<GuardedState> = (ctx) => {
  ctx.set('Cache-Control', 'no-store');
  ctx.body = { data: identityOf(ctx.state.principal) };
};

function identityOf(principal: Principal): Identity {
  const { user, client, sources } = principal;
  const permissions = [...principal.permissions].toSorted();
  return {
    type: principal.type,
    id: user ? user.id : principal.client.id,
    name: user ? (user.name ?? null) : client.name,
    email: user?.email ?? null,
    roles: principal.roles,
    permissions,
    permission_sources: Object.fromEntries(permissions.map((name) => [name, sources.get(name) ?? []])),
    withheld_permissions: [...sources.keys()].filter((name) => !principal.permissions.has(name)).toSorted(),
    scopes: principal.scopes ?? [],
    client_id: client?.id ?? null,
  };
}
