import type {
  AccessTokenClaims,
  Assignment,
  AssignmentStore,
  ChallengedApi,
  Client,
  Gate,
  Logger,
  Milliseconds,
  PermissionSource,
  Principal,
  User,
  UserStore,
} from '../contracts/index.ts';
import { subjectOf } from '../token/usable-token.ts';
import type { FindUsable, TokenRefusal } from '../token/usable-token.ts';
import type { IsTokenActive } from '../token/verify-access-token.ts';
import { AUTH_FAILURES } from './challenge.ts';
import type { AuthFailure } from './challenge.ts';

/** What `createPrincipalLoader()` takes. */
export interface PrincipalPorts<P extends string = string, U extends User = User> {
  readonly gate: PrincipalGate<P>;
  /** The API that the tokens are for. */
  readonly api: ChallengedApi;
  readonly userAssignments: Pick<UserAssignments<U>, 'find'>;
  readonly clientPermissions: FindClientPermissions<P>;
  readonly findUsable: FindUsable;
  /** Whether neither the token, nor its grant, its user or its client was revoked. */
  readonly isActive: IsTokenActive;
}

/** Loads the principal of a verified token, with the time when its client was read; `readAt` is `undefined` when that is now. */
export type LoadPrincipal<P extends string = string, U extends User = User> = (
  claims: AccessTokenClaims,
) => Promise<
  { readonly principal: Principal<P, U>; readonly readAt: Milliseconds | undefined } | AuthFailure
>;

/**
 * Creates the function that loads the user or the client of a verified token.
 *
 * The `principal` claim distinguishes the two. `sub` is never compared with `client_id`, because a client may have the same id
 * as a user.
 */
export function createPrincipalLoader<P extends string, U extends User>({
  api,
  clientPermissions,
  findUsable,
  gate,
  isActive,
  userAssignments,
}: PrincipalPorts<P, U>): LoadPrincipal<P, U> {
  return async function loadPrincipal(claims) {
    const usable = await findUsable(subjectOf(claims), {
      findUser: async (id) => userAssignments.find(id),
      isActive: async () => isActive(claims),
    });
    if (typeof usable === 'string') return FAILURES[usable];
    const { readAt, scopes: granted, user: holder } = usable;
    // Every access token belongs to a client.
    const client = usable.client!;
    const principal = holder
      ? makePrincipal<P, U, UserIdentity<U>>(
          { type: 'user', user: holder.user, client, credential: 'access_token' },
          effectivePermissions(holder.assignment, gate),
          { api, gate, granted },
        )
      : makePrincipal<P, U, ClientIdentity>(
          { type: 'client', user: undefined, client, credential: 'access_token' },
          await clientPermissions(client),
          { api, gate, granted },
        );
    return { principal, readAt };
  };
}

const FAILURES: Readonly<Record<TokenRefusal, AuthFailure>> = {
  revoked: AUTH_FAILURES.revoked,
  client: AUTH_FAILURES.gone,
  user: AUTH_FAILURES.gone,
  api: AUTH_FAILURES.invalid,
};

type PrincipalGate<P extends string> = Pick<Gate<P>, 'effectivePermissions' | 'can'>;

/** The roles of a user or a client, and each of its permissions with the roles or assignments that grant it. */
export interface EffectivePermissions<P extends string = string> {
  readonly roles: readonly string[];
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
}

/**
 * Makes the principal of a user or a client. A list of scopes limits a principal to the permissions that the scopes allow; a scope that
 * is no longer defined allows none. Without a list, the principal has all permissions of the user or the client.
 *
 * @param token.api - the API that defines the scopes. @default there is no token, as in a session
 * @param token.chosen - the permissions that a personal access token is limited to. @default no limit
 * @param token.granted - the list of scopes. @default no limit
 */
export function makePrincipal<P extends string, U extends User, W extends PrincipalIdentity<U>>(
  identity: W,
  { roles, sources }: EffectivePermissions<P>,
  {
    api,
    chosen,
    gate: given,
    granted,
  }: {
    readonly api?: ChallengedApi;
    readonly chosen?: readonly string[] | undefined;
    readonly gate: PrincipalGate<P>;
    readonly granted?: readonly string[] | undefined;
  },
): W & PrincipalPermissions<P> {
  const gate: AnyResourceGate<P> = given;
  const allowed = new Set<string>(
    chosen ?? granted?.flatMap((scope) => api?.scopes.get(scope)?.permissions ?? []),
  );
  const limited = (chosen ?? granted) !== undefined;
  const principal: W & PrincipalPermissions<P> = {
    ...identity,
    api,
    scopes: granted && Object.freeze([...granted]),
    roles: Object.freeze([...roles]),
    permissions: new Set([...sources.keys()].filter((name) => !limited || allowed.has(name))),
    sources,
    can: (permission: P, ...resource: readonly unknown[]) => gate.can(principal, permission, ...resource),
  };
  return Object.freeze(principal);
}

/** The permissions that an assignment grants. */
export function effectivePermissions<P extends string>(
  { permissions, roles }: Assignment,
  gate: Pick<Gate<P>, 'effectivePermissions'>,
): EffectivePermissions<P> {
  return { roles, sources: gate.effectivePermissions({ permissions, roles }) };
}

/** The user, with the client that presented the token unless a session did, or the client alone. */
export type PrincipalIdentity<U extends User = User> = UserIdentity<U> | ClientIdentity;

interface UserIdentity<U extends User> {
  readonly type: 'user';
  readonly user: U;
  readonly client: Client | undefined;
  readonly credential: Principal['credential'];
  readonly token?: Principal['token'];
}

interface ClientIdentity {
  readonly type: 'client';
  readonly user: undefined;
  readonly client: Client;
  readonly credential: 'access_token';
}

/** The members of a principal about its permissions. */
export type PrincipalPermissions<P extends string = string> = Omit<
  Principal<P>,
  'type' | 'user' | 'client' | 'credential' | 'token'
>;

/** A gate whose `can()` accepts any resource: `Principal.can()` has checked the types. */
interface AnyResourceGate<P extends string> {
  can(principal: Principal, permission: P, ...resource: readonly unknown[]): boolean;
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

const MOST_WARNED = 100;

/** Reads assignments from the host's user store if it provides them, otherwise from the storage. */
export function createUserAssignments<U extends User>({
  assignments,
  gate,
  logger,
  users,
}: {
  readonly users: Pick<UserStore<U>, 'find' | 'permissions' | 'roles'>;
  readonly assignments: Pick<AssignmentStore, 'find'>;
  readonly gate: Pick<Gate, 'has'>;
  readonly logger: Pick<Logger, 'warn'>;
}): UserAssignments<U> {
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
    for (const name of permissions) if (!gate.has(name)) warnOfUnknown(name);
    return { roles, permissions };
  }

  const warned = new Set<string>();

  /** Warns once for each name, and for some names only, because a faulty user store may return as many names as there are users. */
  function warnOfUnknown(permission: string): void {
    if (warned.has(permission) || warned.size >= MOST_WARNED) return;
    warned.add(permission);
    logger.warn(
      { permission },
      'users.permissions() returned a permission that the gate does not define, so it permits nothing: define it, or correct the name',
    );
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
  gate: Pick<Gate<P>, 'effectivePermissions' | 'roles'>,
  userAssignments: Pick<UserAssignments, 'find'>,
): FindClientPermissions<P> {
  return async (client) => {
    const own = effectivePermissions(client, gate);
    if (client.ownerId === undefined) return own;
    const owner = await userAssignments.find(client.ownerId);
    if (!owner) return { roles: [], sources: new Map() };
    const { assignment } = owner;
    const effective = gate.effectivePermissions(assignment);
    return {
      roles: own.roles.filter((role) => holdsRole(role, assignment, { effective, roles: gate.roles })),
      sources: new Map([...own.sources].filter(([permission]) => effective.has(permission))),
    };
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
