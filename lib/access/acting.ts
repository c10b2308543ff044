/** Requests that speak for somebody without a token. Only the test kit makes them: nothing in a request can. */
import type { IncomingMessage } from 'node:http';

import { scopesOf } from '../clients/consents.ts';
import type { Assignment, Client, Gate, Principal, User } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import { createMakePrincipal, heldBy } from './principal.ts';
import type { FindHeldByClient, Holders, PrincipalRules } from './principal.ts';

/** Who a request speaks for. */
export interface Actor {
  /** `undefined`: the client, for itself. */
  readonly user: User | undefined;
  readonly client: Client;
  /** What a user holds; `undefined`: what the user store or the assignments say. What a client holds is written on it. */
  readonly held: Assignment | undefined;
  /** As if these scopes had been granted. */
  readonly scopes: readonly string[];
}

const actors = new WeakMap<IncomingMessage, Actor>();

/** Lets a request through every guard of this process, unless it has an `Authorization` header field of its own. */
export function actAs(request: IncomingMessage, actor: Actor): void {
  actors.set(request, actor);
}

/** Who a request speaks for without a token; `undefined` outside of tests. */
export function actorOf(request: IncomingMessage): Actor | undefined {
  return actors.get(request);
}

/** Makes the principal of an actor, as it would be for a token. */
export type LoadActor<P extends string = string, U extends User = User> = (
  actor: Actor,
) => Promise<Principal<P, U>>;

/** What it takes to make principals of actors. */
export interface ActorPorts<P extends string = string, U extends User = User> extends PrincipalRules<P> {
  readonly holders: Pick<Holders<U>, 'heldBy'>;
  readonly heldByClient: FindHeldByClient<P>;
  readonly gate: PrincipalRules<P>['gate'] & Pick<Gate<P>, 'has' | 'roles'>;
}

/**
 * Makes the function that makes principals of actors. It throws a `ConfigError` for a permission, role or scope that there
 * is not: a test that misspells one would pass for the wrong reason.
 */
export function createActorLoader<P extends string, U extends User>(
  ports: ActorPorts<P, U>,
): LoadActor<P, U> {
  const { gate, heldByClient, holders, scopes } = ports;
  const makePrincipal = createMakePrincipal<P, U>(ports);

  return async function loadActor({ client, held, scopes: granted, user }) {
    const given = user ? held : client;
    if (given) checkHeld(given, gate);
    checkNames('scope', granted, (name) => scopes.has(name));
    const limit = scopesOf({ scope: granted.join(' ') }, client);
    if (!user) return makePrincipal({ type: 'client', user, client }, await heldByClient(client), limit);
    const own = user as U;
    const holdings = heldBy(held ?? (await holders.heldBy(own)), gate);
    return makePrincipal({ type: 'user', user: own, client }, holdings, limit);
  };
}

/** @throws ConfigError for a permission or a role that the gate does not know */
export function checkHeld({ permissions, roles }: Assignment, gate: Pick<Gate, 'has' | 'roles'>): void {
  checkNames('permission', permissions, (name) => gate.has(name));
  checkNames('role', roles, (name) => Object.hasOwn(gate.roles, name));
}

function checkNames(kind: string, names: readonly string[], isKnown: (name: string) => boolean): void {
  const unknown = names.find((name) => !isKnown(name));
  if (unknown !== undefined)
    throw new ConfigError(`${kind}s`, `there is no ${kind} "${unknown}"; correct it in the test`);
}
