import { scopesOf } from '../agreement.ts';
import type { AccessTokenClaims, Client, ClientStore, Principal, User } from '../contracts.ts';
import type { FindHeldByClient } from './client-holdings.ts';
import type { Holders } from './holders.ts';
import { createMakePrincipal, heldBy } from './make-principal.ts';
import type { PrincipalRules } from './make-principal.ts';

/** What the loader asks for the people, the clients and the rules. */
export interface PrincipalPorts<P extends string = string, U extends User = User> extends PrincipalRules<P> {
  readonly holders: Pick<Holders<U>, 'find'>;
  readonly clients: Pick<ClientStore, 'find'>;
  readonly heldByClient: FindHeldByClient<P>;
}

/** Finds out who a verified token speaks for. `undefined`: the user or the client is gone or disabled. */
export type LoadPrincipal<P extends string = string, U extends User = User> = (
  claims: AccessTokenClaims,
) => Promise<Principal<P, U> | undefined>;

/**
 * Makes the function that turns the claims of a verified token into the user or the client it speaks for.
 *
 * Which of the two it is, the `principal` claim says. `sub` is never compared with `client_id`: a client may have the
 * id of a user.
 */
export function createPrincipalLoader<P extends string, U extends User>(
  ports: PrincipalPorts<P, U>,
): LoadPrincipal<P, U> {
  const { clients, heldByClient, holders } = ports;
  const makePrincipal = createMakePrincipal<P, U>(ports);

  /** The client of the token, if it may still act, for itself or for a user. */
  async function findClient(id: string): Promise<Client | undefined> {
    const client = (await clients.find(id))?.client;
    return client?.disabled ? undefined : client;
  }

  async function loadUser(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const [client, holder] = await Promise.all([findClient(claims.client_id), holders.find(claims.sub)]);
    if (!client || !holder) return undefined;
    const held = heldBy(holder.assignment, ports.gate);
    return makePrincipal({ type: 'user', user: holder.user, client }, held, scopesOf(claims, client));
  }

  async function loadClient(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const client = await findClient(claims.client_id);
    if (!client) return undefined;
    const held = await heldByClient(client);
    return makePrincipal({ type: 'client', user: undefined, client }, held, scopesOf(claims, client));
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
