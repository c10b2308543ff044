import type {
  AccessTokenClaims,
  Client,
  ClientStore,
  Gate,
  Principal,
  User,
  UserStore,
} from '../contracts.ts';

/** What the loader asks for the people, the clients and the rules. */
export interface PrincipalPorts<P extends string = string, U extends User = User> {
  readonly users: Pick<UserStore<U>, 'find' | 'permissions' | 'roles'>;
  readonly clients: Pick<ClientStore, 'find'>;
  readonly gate: Pick<Gate<P>, 'effective'>;
  /** The permissions that each scope lets through. */
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
}

/** Finds out who a verified token speaks for. `undefined`: the user or the client is gone or disabled. */
export type LoadPrincipal<P extends string = string, U extends User = User> = (
  claims: AccessTokenClaims,
) => Promise<Principal<P, U> | undefined>;

/**
 * Makes the function that turns the claims of a verified token into the user or the client it speaks for.
 *
 * Which of the two it is, the `principal` claim says. `sub` is never compared with `client_id`: a client may have the
 * id of a user. A token with scopes is limited to what they let through; a scope that the server no longer knows lets
 * nothing through. A token without scopes may do all that its user or client may do.
 */
export function createPrincipalLoader<P extends string, U extends User>(
  ports: PrincipalPorts<P, U>,
): LoadPrincipal<P, U> {
  const { users, clients, gate, scopes } = ports;

  /** The client of the token, if it may still act, for itself or for a user. */
  async function findClient(id: string): Promise<Client | undefined> {
    const client = (await clients.find(id))?.client;
    return client?.disabled ? undefined : client;
  }

  function allow(
    claims: AccessTokenClaims,
    roles: readonly string[],
    permissions: readonly string[],
  ): Allowance<P> {
    const held = gate.effective({ permissions, roles });
    const granted = claims.scope?.split(' ').filter(Boolean) ?? [];
    const through = new Set(granted.flatMap((scope) => scopes.get(scope)?.permissions ?? []));
    const allowed = new Set<P>();
    const withheld = new Set<P>();
    for (const permission of held.keys()) {
      (granted.length === 0 || through.has(permission) ? allowed : withheld).add(permission);
    }
    return {
      withheld,
      members: {
        scopes: Object.freeze(granted),
        roles: Object.freeze([...roles]),
        permissions: allowed,
        can: (permission) => allowed.has(permission),
      },
    };
  }

  async function loadUser(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const [client, user] = await Promise.all([findClient(claims.client_id), users.find(claims.sub)]);
    if (!client || !user) return undefined;
    const [roles, permissions] = await Promise.all([users.roles?.(user) ?? [], users.permissions(user)]);
    const { members, withheld } = allow(claims, roles, permissions);
    return remember(withheld, { type: 'user', user, client, ...members });
  }

  async function loadClient(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const client = await findClient(claims.client_id);
    if (!client) return undefined;
    const { members, withheld } = allow(claims, client.roles, client.permissions);
    return remember(withheld, { type: 'client', user: undefined, client, ...members });
  }

  return async function loadPrincipal(claims) {
    switch (claims.principal) {
      case 'user':
        return loadUser(claims);
      case 'client':
        return loadClient(claims);
      default:
        return undefined;
    }
  };
}

interface Allowance<P extends string> {
  /** Held, but not let through by the scopes of the token. */
  readonly withheld: ReadonlySet<P>;
  readonly members: Pick<Principal<P>, 'scopes' | 'roles' | 'permissions' | 'can'>;
}

const withheldPermissions = new WeakMap<object, ReadonlySet<string>>();

function remember<T extends Principal>(withheld: ReadonlySet<string>, principal: T): T {
  withheldPermissions.set(principal, withheld);
  return Object.freeze(principal);
}

/** Tells whether the user or client holds a permission that only the scopes of this token keep back (RFC 6750 section 3.1). */
export function isWithheldByScopes(principal: Principal, permission: string): boolean {
  return withheldPermissions.get(principal)?.has(permission) ?? false;
}
