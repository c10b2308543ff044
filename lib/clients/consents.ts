import type { AccessTokenClaims, Client, Consent } from '../contracts/index.ts';

// An entry in the scopes of a consent, for a request without scopes by a client without a list of scopes. No scope has an empty
// name.
const WITHOUT_SCOPES = '';

/** The API of an authorization request, and the scopes that are requested of it. */
export interface RequestedScopes {
  /** `undefined`: the default, the issuer. */
  readonly resource?: string | undefined;
  readonly scopes: readonly string[];
  /** Whether the scopes limit the client. `false` with no scopes: it requests all permissions of the user. */
  readonly limited: boolean;
}

/** The scopes to store in the consent of a request. */
export function consentScopes({ limited, resource, scopes }: RequestedScopes): readonly string[] {
  const names = scopes.length === 0 && !limited ? [WITHOUT_SCOPES] : scopes;
  return names.map((name) => ofResource(resource, name));
}

/**
 * The name of a scope or of a redirect host as a consent stores it: with the API in front, unless that is the default one. No
 * scope, host or URL contains a space.
 */
export function ofResource(resource: string | undefined, name: string): string {
  return resource === undefined ? name : `${resource} ${name}`;
}

/** Whether the user has consented to a request without scopes, which gives the client all permissions of the user. */
export function isUnlimited({ scopes }: Pick<Consent, 'scopes'>, resource?: string): boolean {
  return scopes.includes(ofResource(resource, WITHOUT_SCOPES));
}

/** What a user has consented to for each API, the default first. */
export function consentsByResource({ hosts, scopes }: Pick<Consent, 'hosts' | 'scopes'>): RequestedScopes[] {
  // An API without a scope is named by its hosts only: the user has consented to a request that named no scope.
  const named = [
    ...scopes.map(split),
    ...Object.keys(hosts).map((host) => ({ resource: split(host).resource, name: undefined })),
  ];
  // Sorted with the empty name of the default first.
  const byResource = Map.groupBy(named, ({ resource = '' }) => resource);
  return [...byResource.keys()].toSorted().map((resource) => {
    const names = byResource.get(resource)!.flatMap(({ name }) => (name === undefined ? [] : [name]));
    return {
      resource: resource || undefined,
      scopes: names.filter((name) => name !== WITHOUT_SCOPES),
      limited: !names.includes(WITHOUT_SCOPES),
    };
  });
}

function split(stored: string): { readonly resource: string | undefined; readonly name: string } {
  const space = stored.indexOf(' ');
  if (space === -1) return { resource: undefined, name: stored };
  return { resource: stored.slice(0, space), name: stored.slice(space + 1) };
}

/**
 * The scopes that limit a token: its own, without those that its client may no longer request; for a token without scopes,
 * those of its API that its client is registered with. `undefined`: no limit, because the token has no scopes and its client
 * has no list of scopes.
 */
export function scopesOf(
  { limited = false, scope = '' }: Pick<AccessTokenClaims, 'limited' | 'scope'>,
  { scopes: allowed }: Pick<Client, 'scopes'>,
  api: { readonly scopes: ReadonlyMap<string, unknown> },
): readonly string[] | undefined {
  const granted = scope.split(' ').filter(Boolean);
  if (granted.length > 0) return granted.filter((name) => allowed?.includes(name) ?? true);
  return limited ? [] : allowed?.filter((name) => api.scopes.has(name));
}
