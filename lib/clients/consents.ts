import type { Consent } from '../contracts/index.ts';

/**
 * The scopes that a consent, a grant or a token is limited to. An empty list permits nothing. `undefined` means no limit: everything that
 * the user may do is permitted.
 */
export type ScopeLimit = readonly string[] | undefined;

/**
 * The limit of a request.
 *
 * @param isLimitedToNone - whether a request without scopes permits nothing, because its client is registered for no scope
 */
export function scopeLimit(scopes: readonly string[], isLimitedToNone: boolean): ScopeLimit {
  return scopes.length > 0 || isLimitedToNone ? scopes : undefined;
}

/**
 * Stores the consents that a user has given elsewhere and that are not stored yet. It is called for all clients before the consents of
 * the user are shown, and for one client before the server finds that the user has not consented to it.
 */
export type ImportConsents = (userId: string, clientId?: string) => Promise<void>;

/** An API, and the scopes of this API that a user consents to. */
export interface ConsentedAccess {
  /** `undefined` for the default API, which is the issuer. */
  readonly resource?: string | undefined;
  readonly limit: ScopeLimit;
}

/**
 * Separates the scopes about who the user is from the scopes of an API. They belong to an endpoint of their own, whatever API they are
 * requested with, so that a consent to them is no consent to the API, and the reverse.
 */
export function consentParts(
  { limit, resource }: ConsentedAccess,
  aboutUser: { readonly resource: string; readonly scopes: ReadonlyMap<string, unknown> } | undefined,
): readonly ConsentedAccess[] {
  const names = limit?.filter((name) => aboutUser?.scopes.has(name)) ?? [];
  if (!aboutUser || names.length === 0) return [{ limit, resource }];
  const ofApi = limit!.filter((name) => !names.includes(name));
  return [
    { limit: names, resource: aboutUser.resource },
    ...(ofApi.length > 0 ? [{ limit: ofApi, resource }] : []),
  ];
}

// Among the scopes of a consent, stands for a request without a limit, to which further scopes may be added. No scope is empty (RFC 6749
// section 3.3).
const WITHOUT_LIMIT = '';

/** The scopes to store in a consent. */
export function consentScopes({ limit = [WITHOUT_LIMIT], resource }: ConsentedAccess): readonly string[] {
  return limit.map((name) => ofResource(resource, name));
}

/**
 * The name of a scope or of a redirect host as a consent stores it: with the API in front, unless it is the default API. No scope, host
 * or URL contains a space.
 */
export function ofResource(resource: string | undefined, name: string): string {
  return resource === undefined ? name : `${resource} ${name}`;
}

/** Whether the user has consented to be sent to a redirect host by the client, for any API. */
export function isAgreedHost(consent: Pick<Consent, 'hosts'> | undefined, host: string): boolean {
  return Object.keys(consent?.hosts ?? {}).some((stored) => stored === host || stored.endsWith(` ${host}`));
}

/** What a user has consented to for each API, the default first. */
export function consentsByResource({ hosts, scopes }: Pick<Consent, 'hosts' | 'scopes'>): ConsentedAccess[] {
  // An API without a scope is named by its hosts only: the user has consented to a request that named no scope.
  const named = [
    ...scopes.map(split),
    ...Object.keys(hosts).map((host) => ({ resource: split(host).resource, name: undefined })),
  ];
  // Sorted with the empty name of the default first.
  const byResource = Map.groupBy(named, ({ resource = '' }) => resource);
  return [...byResource.keys()].toSorted().map((resource) => {
    const names = byResource.get(resource)!.flatMap(({ name }) => (name === undefined ? [] : [name]));
    return { resource: resource || undefined, limit: names.includes(WITHOUT_LIMIT) ? undefined : names };
  });
}

function split(stored: string): { readonly resource: string | undefined; readonly name: string } {
  const space = stored.indexOf(' ');
  if (space === -1) return { resource: undefined, name: stored };
  return { resource: stored.slice(0, space), name: stored.slice(space + 1) };
}
