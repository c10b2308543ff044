import type {
  AccessTokenClaims,
  Assignment,
  Client,
  ClientStore,
  Gate,
  Principal,
  User,
} from '../contracts.ts';
import type { Holders } from './holders.ts';

/** What the loader asks for the people, the clients and the rules. */
export interface PrincipalPorts<P extends string = string, U extends User = User> {
  readonly holders: Pick<Holders<U>, 'find'>;
  readonly clients: Pick<ClientStore, 'find'>;
  readonly gate: Pick<Gate<P>, 'effective' | 'can'>;
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
  const { holders, clients, scopes } = ports;
  const gate: AnySubjectGate<P> = ports.gate;

  /** The client of the token, if it may still act, for itself or for a user. */
  async function findClient(id: string): Promise<Client | undefined> {
    const client = (await clients.find(id))?.client;
    return client?.disabled ? undefined : client;
  }

  function principalOf<W extends Who<U>>(
    claims: AccessTokenClaims,
    { roles, permissions }: Assignment,
    who: W,
  ): W & Powers<P> {
    const sources = gate.effective({ roles, permissions });
    const granted = claims.scope?.split(' ').filter(Boolean) ?? [];
    const through = new Set(granted.flatMap((scope) => scopes.get(scope)?.permissions ?? []));
    const principal: W & Powers<P> = {
      ...who,
      scopes: Object.freeze(granted),
      roles: Object.freeze([...roles]),
      permissions: new Set([...sources.keys()].filter((name) => granted.length === 0 || through.has(name))),
      sources,
      can: (permission: P, ...subject: readonly unknown[]) => gate.can(principal, permission, ...subject),
    };
    Object.freeze(principal);
    return principal;
  }

  async function loadUser(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const [client, holder] = await Promise.all([findClient(claims.client_id), holders.find(claims.sub)]);
    return (
      client && holder && principalOf(claims, holder.assignment, { type: 'user', user: holder.user, client })
    );
  }

  async function loadClient(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const client = await findClient(claims.client_id);
    return client && principalOf(claims, client, { type: 'client', user: undefined, client });
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

type Who<U extends User> =
  | { readonly type: 'user'; readonly user: U; readonly client: Client }
  | { readonly type: 'client'; readonly user: undefined; readonly client: Client };

type Powers<P extends string> = Pick<Principal<P>, 'scopes' | 'roles' | 'permissions' | 'sources' | 'can'>;

/** A gate whose `can()` hands on whatever subject it was given: the types were checked where it was given. */
interface AnySubjectGate<P extends string> extends Pick<Gate<P>, 'effective'> {
  can(principal: Principal, permission: P, ...subject: readonly unknown[]): boolean;
}
