import { scopesOf } from '../clients/consents.ts';
import type {
  AccessTokenClaims,
  Assignment,
  AssignmentStore,
  Client,
  ClientStore,
  Gate,
  PermissionSource,
  Principal,
  User,
  UserStore,
} from '../contracts/index.ts';

/** What the loader asks for the people, the clients and the rules. */
export interface PrincipalPorts<P extends string = string, U extends User = User> extends PrincipalRules<P> {
  readonly userAssignments: Pick<UserAssignments<U>, 'find'>;
  readonly clients: Pick<ClientStore, 'find'>;
  readonly clientPermissions: FindClientPermissions<P>;
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
  const { clients, clientPermissions, userAssignments } = ports;
  const makePrincipal = createMakePrincipal<P, U>(ports);

  /** The client of the token, if it may still act, for itself or for a user. */
  async function findClient(id: string): Promise<Client | undefined> {
    const client = (await clients.find(id))?.client;
    return client?.disabled ? undefined : client;
  }

  async function loadUser(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const [client, found] = await Promise.all([
      findClient(claims.client_id),
      userAssignments.find(claims.sub),
    ]);
    if (!client || !found) return undefined;
    const effective = effectivePermissions(found.assignment, ports.gate);
    return makePrincipal({ type: 'user', user: found.user, client }, effective, scopesOf(claims, client));
  }

  async function loadClient(claims: AccessTokenClaims): Promise<Principal<P, U> | undefined> {
    const client = await findClient(claims.client_id);
    if (!client) return undefined;
    const effective = await clientPermissions(client);
    return makePrincipal({ type: 'client', user: undefined, client }, effective, scopesOf(claims, client));
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

/** What a principal is made with. */
export interface PrincipalRules<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'effective' | 'can'>;
  /** The permissions that each scope lets through. */
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
}

/** What somebody holds: their roles, and every permission with the places that it comes from. */
export interface EffectivePermissions<P extends string = string> {
  readonly roles: readonly string[];
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
}

/** Makes a principal of who it is, what they hold, and the scopes that limit them; `undefined`: none do. */
export type MakePrincipal<P extends string = string, U extends User = User> = <W extends Who<U>>(
  who: W,
  effective: EffectivePermissions<P>,
  granted: readonly string[] | undefined,
) => W & Powers<P>;

/**
 * Makes the function that puts principals together. With a list of scopes, one is limited to what they let through; a scope
 * that the server no longer knows lets nothing through. Without a list, the user or the client may do all that they may do.
 */
export function createMakePrincipal<P extends string, U extends User>({
  gate: given,
  scopes,
}: PrincipalRules<P>): MakePrincipal<P, U> {
  const gate: AnyResourceGate<P> = given;

  return function makePrincipal<W extends Who<U>>(
    who: W,
    { roles, sources }: EffectivePermissions<P>,
    granted: readonly string[] | undefined,
  ) {
    const through = new Set(granted?.flatMap((scope) => scopes.get(scope)?.permissions ?? []));
    const limited = granted !== undefined;
    const principal: W & Powers<P> = {
      ...who,
      scopes: Object.freeze([...(granted ?? [])]),
      limited,
      roles: Object.freeze([...roles]),
      permissions: new Set([...sources.keys()].filter((name) => !limited || through.has(name))),
      sources,
      can: (permission: P, ...resource: readonly unknown[]) => gate.can(principal, permission, ...resource),
    };
    Object.freeze(principal);
    return principal;
  };
}

/** What an assignment amounts to. */
export function effectivePermissions<P extends string>(
  { permissions, roles }: Assignment,
  gate: Pick<Gate<P>, 'effective'>,
): EffectivePermissions<P> {
  return { roles, sources: gate.effective({ permissions, roles }) };
}

/** The user and the client that presented the token, or the client that speaks for itself. */
export type Who<U extends User = User> =
  | { readonly type: 'user'; readonly user: U; readonly client: Client }
  | { readonly type: 'client'; readonly user: undefined; readonly client: Client };

/** What a caller may do. */
export type Powers<P extends string = string> = Pick<
  Principal<P>,
  'scopes' | 'limited' | 'roles' | 'permissions' | 'sources' | 'can'
>;

/** A gate whose `can()` hands on whatever resource it was given: the types were checked where it was given. */
interface AnyResourceGate<P extends string> extends Pick<Gate<P>, 'effective'> {
  can(principal: Principal, permission: P, ...resource: readonly unknown[]): boolean;
}

/** Where to read people and what they hold. */
export interface UserAssignmentPorts<U extends User = User> {
  readonly users: Pick<UserStore<U>, 'find' | 'permissions' | 'roles'>;
  /** Asked only when the user store keeps neither permissions nor roles. */
  readonly assignments: Pick<AssignmentStore, 'find'>;
}

/** People, and what they hold. */
export interface UserAssignments<U extends User = User> {
  /** Finds a user together with what they hold. */
  find(id: string): Promise<{ readonly user: U; readonly assignment: Assignment } | undefined>;
  /** What a user holds. */
  of(user: U): Promise<Assignment>;
}

/** Tells whether the user store itself says who holds what; otherwise `auth.assignments` does. */
export function userStoreAssigns(users: Pick<UserStore, 'permissions' | 'roles'>): boolean {
  return users.permissions !== undefined || users.roles !== undefined;
}

/** Reads what people hold from where it is kept: the host's user store, or else the storage. */
export function createUserAssignments<U extends User>({
  users,
  assignments,
}: UserAssignmentPorts<U>): UserAssignments<U> {
  if (!userStoreAssigns(users)) {
    return {
      async find(id) {
        const [user, assignment] = await Promise.all([users.find(id), assignments.find(id)]);
        return user && { user, assignment };
      },
      of: async (user) => assignments.find(user.id),
    };
  }

  async function findAssignment(user: U): Promise<Assignment> {
    const [roles, permissions] = await Promise.all([
      users.roles?.(user) ?? [],
      users.permissions?.(user) ?? [],
    ]);
    return { roles, permissions };
  }

  return {
    async find(id) {
      const user = await users.find(id);
      return user && { user, assignment: await findAssignment(user) };
    },
    of: findAssignment,
  };
}

/** Finds what a client holds for itself, as of now. */
export type FindClientPermissions<P extends string = string> = (
  client: Pick<Client, 'ownerId' | 'permissions' | 'roles'>,
) => Promise<EffectivePermissions<P>>;

/**
 * Makes the function that tells what a client holds. Of a client that a person owns, that is what both of them hold: who
 * gave a permission and lost it, does not keep it by an app. When the owner is gone, nothing is left.
 */
export function createFindClientPermissions<P extends string>(
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
  userAssignments: Pick<UserAssignments, 'find'>,
): FindClientPermissions<P> {
  return async (client) => {
    const own = effectivePermissions(client, gate);
    if (client.ownerId === undefined) return own;
    const owner = await userAssignments.find(client.ownerId);
    return owner ? permissionsOfBoth(own, owner.assignment, gate) : { roles: [], sources: new Map() };
  };
}

function permissionsOfBoth<P extends string>(
  own: EffectivePermissions<P>,
  owner: Assignment,
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
): EffectivePermissions<P> {
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
  { roles: assignedRoles }: Assignment,
  gate: { readonly effective: ReadonlyMap<string, unknown>; readonly roles: Gate['roles'] },
): boolean {
  const permissions = Object.hasOwn(gate.roles, role) ? gate.roles[role]! : [];
  return (
    assignedRoles.includes(role) ||
    (permissions.length > 0 && permissions.every((name) => gate.effective.has(name)))
  );
}
