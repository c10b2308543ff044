import { errors } from '../engine/oidc-provider.ts';

import type { ScopeLimit } from '../clients/consents.ts';
import type { Client, Grant } from '../contracts/index.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';

/** The names in a parameter `scope` (RFC 6749 section 3.3), each once. */
export function scopeNames(scope: unknown): string[] {
  return typeof scope === 'string' ? [...new Set(scope.split(' ').filter(Boolean))] : [];
}

/** The scopes that an API has and a client may ask for. */
export interface AllowedScopes {
  readonly scopes: readonly string[];
  /** Those that a request without `scope` gets when the client is registered with a list. */
  readonly defaults: readonly string[];
  /** Whether the client is registered with a list of scopes. */
  readonly isListed: boolean;
  /** Whether the client could know which scopes are for it: a registration says so. */
  readonly isInformed: boolean;
}

export function allowedScopes(
  { registration, scopes: registered }: Client,
  { scopes: known }: Pick<ResolvedResource, 'scopes'>,
  { clients: { documents } }: ResolvedOptions,
): AllowedScopes {
  const scopes = [...known.keys()].filter((scope) => registered === undefined || registered.includes(scope));
  const isInformed = registration !== 'metadata_document';
  const defaults = isInformed ? scopes : scopes.filter((scope) => documents?.defaultScopes.includes(scope));
  return { scopes, defaults, isListed: registered !== undefined, isInformed };
}

/**
 * The scopes of a new grant, or of a client's token for itself. `undefined`: it is not limited to scopes. Empty: limited to none.
 *
 * Apps of Laravel Passport request the scope `*` for all that they may have. Unless the API defines it, it decides for client
 * credentials, whatever other scopes are requested, and is ignored otherwise, as in Passport.
 *
 * @throws InvalidScope of the engine for a scope that the client may not have
 */
export function decideScopes(
  requested: readonly string[],
  { scopes: known }: Pick<ResolvedResource, 'scopes'>,
  { defaults, isInformed, isListed, scopes: allowed }: AllowedScopes,
  { isForItself = false }: { readonly isForItself?: boolean } = {},
): ScopeLimit {
  const isForAll = requested.includes('*') && !known.has('*');
  let scopes = isForAll ? requested.filter((scope) => scope !== '*') : requested;
  let refused = scopes.filter((scope) => !allowed.includes(scope));
  // It requests all scopes that the metadata or a challenge names. The token response says what was granted (RFC 6749 section 3.3).
  if (!isInformed && refused.length < scopes.length && refused.every((scope) => known.has(scope))) {
    scopes = scopes.filter((scope) => allowed.includes(scope));
    refused = [];
  }
  if (refused.length > 0) throw new errors.InvalidScope('requested scope is not allowed', refused.join(' '));
  if (isForAll && isForItself) scopes = [];
  if (scopes.length > 0) return scopes;
  return isListed ? defaults : undefined;
}

/**
 * The scopes of the next token of a grant. `undefined`: it is not limited to scopes. Empty: limited to none.
 *
 * A grant may have scopes that were since removed from the server or the client: they are left out. A token without scopes has all
 * permissions of its user, so when none is left the request is refused. When the client was registered with a list of scopes since a
 * grant without scopes, the token is limited to that list.
 *
 * @throws InvalidScope of the engine
 */
export function remainingScopes(
  { grant, scopes: granted }: { readonly grant: Pick<Grant, 'scopes'>; readonly scopes: readonly string[] },
  requested: readonly string[],
  { isListed, scopes: allowed }: AllowedScopes,
): ScopeLimit {
  if (grant.scopes?.length === 0) return [];
  if (granted.length === 0) return isListed ? allowed : undefined;
  const wanted = requested.length > 0 ? requested : granted;
  const scopes = wanted.filter((scope) => allowed.includes(scope) && grant.scopes?.includes(scope));
  if (scopes.length > 0) return scopes;
  throw new errors.InvalidScope('the scopes of this grant are not allowed any more', wanted.join(' '));
}
