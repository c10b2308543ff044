import type { Assignment, Client, Gate, PermissionSource, Principal, User } from '../contracts.ts';

/** What a principal is made with. */
export interface PrincipalRules<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'effective' | 'can'>;
  /** The permissions that each scope lets through. */
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
}

/** What somebody holds: their roles, and every permission with the places that it comes from. */
export interface Held<P extends string = string> {
  readonly roles: readonly string[];
  readonly sources: ReadonlyMap<P, readonly PermissionSource[]>;
}

/** Makes a principal of who it is, what they hold, and the scopes that limit them; `undefined`: none do. */
export type MakePrincipal<P extends string = string, U extends User = User> = <W extends Who<U>>(
  who: W,
  held: Held<P>,
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
  const gate: AnySubjectGate<P> = given;

  return function makePrincipal<W extends Who<U>>(
    who: W,
    { roles, sources }: Held<P>,
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
      can: (permission: P, ...subject: readonly unknown[]) => gate.can(principal, permission, ...subject),
    };
    Object.freeze(principal);
    return principal;
  };
}

/** What an assignment amounts to. */
export function heldBy<P extends string>(
  { permissions, roles }: Assignment,
  gate: Pick<Gate<P>, 'effective'>,
): Held<P> {
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

/** A gate whose `can()` hands on whatever subject it was given: the types were checked where it was given. */
interface AnySubjectGate<P extends string> extends Pick<Gate<P>, 'effective'> {
  can(principal: Principal, permission: P, ...subject: readonly unknown[]): boolean;
}
