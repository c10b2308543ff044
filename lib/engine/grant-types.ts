import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

import type { GrantType } from './part.ts';

// By engine, because a new one is made when the keys change.
const known = new WeakMap<Provider, ReadonlyMap<string, GrantType>>();

/** Keeps the grant types of an engine, for what is said of its requests. */
export function knowGrants(provider: Provider, grants: readonly GrantType[]): void {
  known.set(provider, new Map(grants.map((grant) => [grant.name, grant])));
}

function grantsOf({ oidc: { provider } }: KoaContextWithOIDC): ReadonlyMap<string, GrantType> {
  return known.get(provider)!;
}

/** Whether a value of `grant_type` is a grant type of this server. */
export function isGrantType(ctx: KoaContextWithOIDC, name: string): boolean {
  return grantsOf(ctx).has(name);
}

/** The grant type that begins at the endpoint of a request. */
export function grantThatBegins(ctx: KoaContextWithOIDC): string | undefined {
  const { route } = ctx.oidc;
  return route && [...grantsOf(ctx).values()].find(({ beginsAt }) => beginsAt === route)?.name;
}

/** Whether an error says that the client has to ask again. */
export function isPending(ctx: KoaContextWithOIDC, error: string | undefined): boolean {
  const asked = grantsOf(ctx).get(String(ctx.oidc.params?.['grant_type']));
  return error !== undefined && asked?.pending?.includes(error) === true;
}
