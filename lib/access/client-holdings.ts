import type { Assignment, Client, Gate } from '../contracts.ts';
import type { Holders } from './holders.ts';
import { heldBy } from './make-principal.ts';
import type { Held } from './make-principal.ts';

/** Finds what a client holds for itself, as of now. */
export type FindHeldByClient<P extends string = string> = (
  client: Pick<Client, 'ownerId' | 'permissions' | 'roles'>,
) => Promise<Held<P>>;

/**
 * Makes the function that tells what a client holds. Of a client that a person owns, that is what both of them hold: who
 * gave a permission and lost it, does not keep it by an app. When the owner is gone, nothing is left.
 */
export function createFindHeldByClient<P extends string>(
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
  holders: Pick<Holders, 'find'>,
): FindHeldByClient<P> {
  return async (client) => {
    const own = heldBy(client, gate);
    if (client.ownerId === undefined) return own;
    const owner = await holders.find(client.ownerId);
    return owner ? heldByBoth(own, owner.assignment, gate) : { roles: [], sources: new Map() };
  };
}

function heldByBoth<P extends string>(
  own: Held<P>,
  owner: Assignment,
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
): Held<P> {
  const ofOwner = gate.effective(owner);
  return {
    roles: own.roles.filter((role) => covers(role, owner, { effective: ofOwner, roles: gate.roles })),
    sources: new Map([...own.sources].filter(([permission]) => ofOwner.has(permission))),
  };
}

/**
 * Whether somebody who holds this has a role, or all that is in it. A role without permissions may mean something to the
 * host, so holding all of none is not enough.
 */
function covers(
  role: string,
  { roles: held }: Assignment,
  gate: { readonly effective: ReadonlyMap<string, unknown>; readonly roles: Gate['roles'] },
): boolean {
  const permissions = Object.hasOwn(gate.roles, role) ? gate.roles[role]! : [];
  return (
    held.includes(role) || (permissions.length > 0 && permissions.every((name) => gate.effective.has(name)))
  );
}
