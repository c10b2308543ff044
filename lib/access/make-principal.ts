import type { Assignment, Client, Gate, Principal, User } from '../contracts.ts';

/** What a principal is made with. */
export interface PrincipalRules<P extends string = string> {
  readonly gate: Pick<Gate<P>, 'effective' | 'can'>;
  /** The permissions that each scope lets through. */
  readonly scopes: ReadonlyMap<string, { readonly permissions: readonly P[] }>;
}

/** Makes a principal of who it is, what they hold, and the scopes that they were granted. */
export type MakePrincipal<P extends string = string, U extends User = User> = <W extends Who<U>>(
  who: W,
  held: Assignment,
  granted: readonly string[],
) => W & Powers<P>;

/**
 * Makes the function that puts principals together. With scopes, one is limited to what they let through; a scope that
 * the server no longer knows lets nothing through. Without scopes, the user or the client may do all that they may do.
 */
export function createMakePrincipal<P extends string, U extends User>({
  gate: given,
  scopes,
}: PrincipalRules<P>): MakePrincipal<P, U> {
  const gate: AnySubjectGate<P> = given;

  return function makePrincipal<W extends Who<U>>(
    who: W,
    { roles, permissions }: Assignment,
    granted: readonly string[],
  ) {
    const sources = gate.effective({ roles, permissions });
    const through = new Set(granted.flatMap((scope) => scopes.get(scope)?.permissions ?? []));
    const principal: W & Powers<P> = {
      ...who,
      scopes: Object.freeze([...granted]),
      roles: Object.freeze([...roles]),
      permissions: new Set([...sources.keys()].filter((name) => granted.length === 0 || through.has(name))),
      sources,
      can: (permission: P, ...subject: readonly unknown[]) => gate.can(principal, permission, ...subject),
    };
    Object.freeze(principal);
    return principal;
  };
}

/** The user and the client that presented the token, or the client that speaks for itself. */
export type Who<U extends User = User> =
  | { readonly type: 'user'; readonly user: U; readonly client: Client }
  | { readonly type: 'client'; readonly user: undefined; readonly client: Client };

/** What a caller may do. */
export type Powers<P extends string = string> = Pick<
  Principal<P>,
  'scopes' | 'roles' | 'permissions' | 'sources' | 'can'
>;

/** A gate whose `can()` hands on whatever subject it was given: the types were checked where it was given. */
interface AnySubjectGate<P extends string> extends Pick<Gate<P>, 'effective'> {
  can(principal: Principal, permission: P, ...subject: readonly unknown[]): boolean;
}
