import { scopesOf } from '../clients/consents.ts';
import type {
  AccessTokenClaims,
  Assignment,
  AssignmentStore,
  Client,
  Gate,
  PermissionSource,
  Principal,
  User,
  UserStore,
} from '../contracts/index.ts';
import { recordApi } from './challenge.ts';
import type { ChallengedApi } from './challenge.ts';

/** What `createPrincipalLoader()` takes. */
export interface PrincipalPorts<P extends string = string, U extends User = User> {
  readonly gate: PrincipalRules<P>['gate'];
  /** The API that the tokens are for. */
  readonly api: ChallengedApi & Pick<PrincipalRules<P>, 'scopes'>;
  readonly userAssignments: Pick<UserAssignments<U>, 'find'>;
  /** `readAt`: when a cached client was read, in milliseconds. `undefined`: now. */
  readonly clients: {
    find(id: string): Promise<{ readonly client: Client; readonly readAt?: number } | undefined>;
  };
  readonly clientPermissions: FindClientPermissions<P>;
}

/** A principal, and when the client of its token was read, in milliseconds. `undefined`: now. */
export interface LoadedPrincipal<P extends string = string, U extends User = User> {
  readonly principal: Principal<P, U>;
  readonly readAt: number | undefined;
}

/** Loads the principal of a verified token. `undefined`: the user or the client was removed or disabled. */
export type LoadPrincipal<P extends string = string, U extends User = User> = (
  claims: AccessTokenClaims,
) => Promise<LoadedPrincipal<P, U> | undefined>;

/**
 * Creates the function that loads the user or the client of a verified token.
 *
 * The `principal` claim distinguishes the two. `sub` is never compared with `client_id`, because a client may have the same id
 * as a user.
 */
export function createPrincipalLoader<P extends string, U extends User>(
  ports: PrincipalPorts<P, U>,
): LoadPrincipal<P, U> {
  const { api, clients, clientPermissions, gate, userAssignments } = ports;
  const makePrincipal = createMakePrincipal<P, U>({ gate, scopes: api.scopes });

  /** The client of the token, unless it was removed or disabled. */
  async function findClient(id: string): ReturnType<typeof clients.find> {
    const found = await clients.find(id);
    return found?.client.disabled ? undefined : found;
  }

  async function loadUser(claims: AccessTokenClaims): ReturnType<LoadPrincipal<P, U>> {
    const [through, found] = await Promise.all([
      findClient(claims.client_id),
      userAssignments.find(claims.sub),
    ]);
    if (!through || !found) return undefined;
    const { client, readAt } = through;
    const effective = effectivePermissions(found.assignment, gate);
    const granted = scopesOf(claims, client, api);
    const principal = makePrincipal({ type: 'user', user: found.user, client }, effective, granted);
    return { principal: recordApi(principal, api), readAt };
  }

  async function loadClient(claims: AccessTokenClaims): ReturnType<LoadPrincipal<P, U>> {
    const found = await findClient(claims.client_id);
    if (!found) return undefined;
    const { client, readAt } = found;
    const effective = await clientPermissions(client);
    const granted = scopesOf(claims, client, api);
    const principal = makePrincipal({ type: 'client', user: undefined, client }, effective, granted);
    return { principal: recordApi(principal, api), readAt };
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

/** The gate and the scopes that principals are made with. */
export interface PrincipalRules<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'effective' | 'can'>;
  /** The permissions that each scope allows. */
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
}

/** The roles of a user or a client, and each of its permissions with the roles or assignments that grant it. */
export interface EffectivePermissions<P extends string = string> {
  readonly roles: readonly string[];
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
}

/** Makes a principal of a user or a client, its permissions, and the scopes that limit them; `undefined`: no limit. */
export type MakePrincipal<P extends string = string, U extends User = User> = <
  W extends PrincipalIdentity<U>,
>(
  identity: W,
  effective: EffectivePermissions<P>,
  granted: readonly string[] | undefined,
) => W & PrincipalPermissions<P>;

/**
 * Creates the function that makes principals. A list of scopes limits a principal to the permissions that the scopes allow; a
 * scope that is no longer defined allows none. Without a list, the principal has all permissions of the user or the client.
 */
export function createMakePrincipal<P extends string, U extends User>({
  gate: given,
  scopes,
}: PrincipalRules<P>): MakePrincipal<P, U> {
  const gate: AnyResourceGate<P> = given;

  return function makePrincipal<W extends PrincipalIdentity<U>>(
    identity: W,
    { roles, sources }: EffectivePermissions<P>,
    granted: readonly string[] | undefined,
  ) {
    const allowed = new Set(granted?.flatMap((scope) => scopes.get(scope)?.permissions ?? []));
    const limited = granted !== undefined;
    const principal: W & PrincipalPermissions<P> = {
      ...identity,
      scopes: Object.freeze([...(granted ?? [])]),
      limited,
      roles: Object.freeze([...roles]),
      permissions: new Set([...sources.keys()].filter((name) => !limited || allowed.has(name))),
      sources,
      can: (permission: P, ...resource: readonly unknown[]) => gate.can(principal, permission, ...resource),
    };
    Object.freeze(principal);
    return principal;
  };
}

/** The permissions that an assignment grants. */
export function effectivePermissions<P extends string>(
  { permissions, roles }: Assignment,
  gate: Pick<Gate<P>, 'effective'>,
): EffectivePermissions<P> {
  return { roles, sources: gate.effective({ permissions, roles }) };
}

/** The user and the client that presented the token, or the client alone. */
export type PrincipalIdentity<U extends User = User> =
  | { readonly type: 'user'; readonly user: U; readonly client: Client }
  | { readonly type: 'client'; readonly user: undefined; readonly client: Client };

/** The members of a principal about its permissions. */
export type PrincipalPermissions<P extends string = string> = Pick<
  Principal<P>,
  'scopes' | 'limited' | 'roles' | 'permissions' | 'sources' | 'can'
>;

/** A gate whose `can()` accepts any resource: `Principal.can()` has checked the types. */
interface AnyResourceGate<P extends string> extends Pick<Gate<P>, 'effective'> {
  can(principal: Principal, permission: P, ...resource: readonly unknown[]): boolean;
}

/** Where users and their assignments are read. */
export interface UserAssignmentPorts<U extends User = User> {
  readonly users: Pick<UserStore<U>, 'find' | 'permissions' | 'roles'>;
  /** Read only when the user store has neither `permissions()` nor `roles()`. */
  readonly assignments: Pick<AssignmentStore, 'find'>;
}

/** Reads users and their assignments. */
export interface UserAssignments<U extends User = User> {
  /** Finds a user with the user's assignment. */
  find(id: string): Promise<{ readonly user: U; readonly assignment: Assignment } | undefined>;
  /** The assignment of a user. */
  of(user: U): Promise<Assignment>;
}

/** Whether the user store provides the roles and permissions of users; otherwise `auth.assignments` does. */
export function userStoreAssigns(users: Pick<UserStore, 'permissions' | 'roles'>): boolean {
  return users.permissions !== undefined || users.roles !== undefined;
}

/** Reads assignments from the host's user store if it provides them, otherwise from the storage. */
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

/** Finds the current permissions of a client that acts for itself. */
export type FindClientPermissions<P extends string = string> = (
  client: Pick<Client, 'ownerId' | 'permissions' | 'roles'>,
) => Promise<EffectivePermissions<P>>;

/**
 * Creates the function that finds the permissions of a client. A client with an owner has only the permissions that the owner
 * has too, so that an owner who loses a permission does not keep it through the client. If the owner was removed, the client
 * has none.
 */
export function createFindClientPermissions<P extends string>(
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
  userAssignments: Pick<UserAssignments, 'find'>,
): FindClientPermissions<P> {
  return async (client) => {
    const own = effectivePermissions(client, gate);
    if (client.ownerId === undefined) return own;
    const owner = await userAssignments.find(client.ownerId);
    return owner ? intersectPermissions(own, owner.assignment, gate) : { roles: [], sources: new Map() };
  };
}

function intersectPermissions<P extends string>(
  own: EffectivePermissions<P>,
  owner: Assignment,
  gate: Pick<Gate<P>, 'effective' | 'roles'>,
): EffectivePermissions<P> {
  const ownerPermissions = gate.effective(owner);
  return {
    roles: own.roles.filter((role) =>
      holdsRole(role, owner, { effective: ownerPermissions, roles: gate.roles }),
    ),
    sources: new Map([...own.sources].filter(([permission]) => ownerPermissions.has(permission))),
  };
}

/**
 * Whether an assignment has a role, or all of its permissions. A role without permissions must be assigned itself, because it
 * may have a meaning to the host.
 */
export function holdsRole(
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
