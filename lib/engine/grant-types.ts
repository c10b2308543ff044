import type { KoaContextWithOIDC, Provider } from 'oidc-provider';

/** What is said of the requests of a grant type. */
export interface KnownGrant {
  /** The value of `grant_type`. */
  readonly name: string;
  /** The errors that say that the client has to ask again. They are no refusals. */
  readonly pending?: readonly string[];
}

// By engine, because a new one is made when the keys change.
const known = new WeakMap<Provider, ReadonlyMap<string, KnownGrant>>();

/** Keeps the grant types of an engine, for what is said of its requests. */
export function knowGrants(provider: Provider, grants: readonly KnownGrant[]): void {
  known.set(provider, new Map(grants.map((grant) => [grant.name, grant])));
}

/** Whether a value of `grant_type` is a grant type of this server. */
export function isGrantType({ oidc: { provider } }: KoaContextWithOIDC, name: string): boolean {
  return known.get(provider)!.has(name);
}

/** Whether an error says that the client has to ask again. */
export function isPending({ oidc: { params, provider } }: KoaContextWithOIDC, error: string): boolean {
  return known.get(provider)!.get(String(params?.['grant_type']))?.pending?.includes(error) === true;
}
