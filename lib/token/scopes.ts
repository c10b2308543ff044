import { errors } from '../engine/oidc-provider.ts';

import type { ScopeLimit } from '../clients/consents.ts';
import type { Client, Grant } from '../contracts/index.ts';
import type { ResolvedOptions, ResolvedResource } from '../options/resolved-options.ts';

/** The names in a parameter `scope` (RFC 6749 section 3.3), each once. */
export function splitScope(scope: unknown): string[] {
  return typeof scope === 'string' ? [...new Set(scope.split(' ').filter(Boolean))] : [];
}

/**
 * The scope with which clients ask for a refresh token (OpenID Connect Core section 11). Users' clients get one without it; many ask for
 * it always, and refresh only if it was granted. It permits nothing.
 */
const OFFLINE_ACCESS = 'offline_access';

/** Whether a client signs its user in with scopes. */
export function signsIn(scopes: readonly string[], aboutUser: ResolvedOptions['aboutUser']): boolean {
  return aboutUser !== undefined && scopes.includes(aboutUser.signIn);
}

/**
 * Whether a scope is about who the user is, and permits nothing.
 *
 * @param aboutUser - `undefined`: no scope is
 */
export function isIdentityScope(scope: string, aboutUser: ResolvedOptions['aboutUser']): boolean {
  return aboutUser?.scopes.has(scope) === true;
}

/**
 * The audience of a token with scopes (RFC 9068 section 2.2, RFC 8707 section 2): the API; with only scopes about who the user is their
 * endpoint, so that each API refuses the token; with both kinds the two, the API first. No two of them have a scope with the same name, so
 * that none of the scopes is valid at both (RFC 9068 section 5).
 */
export function audienceOf(
  scopes: readonly string[] | undefined,
  api: Pick<ResolvedResource, 'resource'>,
  aboutUser: ResolvedOptions['aboutUser'],
): string | readonly [string, string] {
  const some = (scopes ?? []).filter((scope) => isIdentityScope(scope, aboutUser)).length;
  if (!aboutUser || some === 0) return api.resource;
  return some === scopes!.length ? aboutUser.resource : [api.resource, aboutUser.resource];
}

/**
 * The API of a request without `resource`: the default one, unless all scopes that the client asks for, or else is registered with, belong
 * to one other API only. An agent may be older than the parameter.
 */
export function defaultResource(
  { scopes: registered = [] }: Pick<Client, 'scopes'>,
  requested: readonly string[] = [],
  { aboutUser, issuer, resources }: Pick<ResolvedOptions, 'aboutUser' | 'issuer' | 'resources'>,
): string {
  const names = (requested.length > 0 ? requested : registered).filter(
    (name) => !isIdentityScope(name, aboutUser),
  );
  if (names.length === 0) return issuer;
  const fitting = [...resources.values()].filter(({ scopes }) => names.every((name) => scopes.has(name)));
  return fitting.length === 1 ? fitting[0]!.resource : issuer;
}

/** What a parameter `scope` requests, where refresh tokens are issued. */
export interface RequestedScopes {
  /** Without `offline_access`. `undefined`: no scope is named. Empty: only `offline_access` is, which permits nothing. */
  readonly scopes: readonly string[] | undefined;
  readonly hasOfflineAccess: boolean;
}

export function requestedScopes(scope: unknown): RequestedScopes {
  const names = splitScope(scope);
  const scopes = names.filter((name) => name !== OFFLINE_ACCESS);
  return { scopes: names.length > 0 ? scopes : undefined, hasOfflineAccess: scopes.length < names.length };
}

/** The parameter `scope` with these names. `undefined`: there are none. */
export function toScope(
  names: readonly string[],
  { hasOfflineAccess = false }: { readonly hasOfflineAccess?: boolean | undefined } = {},
): string | undefined {
  return (hasOfflineAccess ? [...names, OFFLINE_ACCESS] : names).join(' ') || undefined;
}

/** The scopes that an API has and a client may ask for. */
export interface AllowedScopes {
  readonly scopes: readonly string[];
  /**
   * The scopes about who the user is that the client may ask for beside them. They are among the scopes of a grant and of a token, so that
   * one which has no other is never without scopes, which stands for all that the user may do.
   */
  readonly identity: readonly string[];
  /** Those that a request without `scope` gets when the client is registered with a list. */
  readonly defaults: readonly string[];
  /** Whether the client is registered with a list of scopes. */
  readonly isListed: boolean;
  /** Whether the client could know which scopes are for it: who registers it is told. */
  readonly isInformed: boolean;
}

export function allowedScopes(
  { defaultScopes, grantType, scopes: registered }: Client,
  { scopes: known }: { readonly scopes: ReadonlyMap<string, unknown> },
  { aboutUser }: Pick<ResolvedOptions, 'aboutUser'>,
): AllowedScopes {
  const ofClient = (names: Iterable<string>): string[] =>
    [...names].filter((scope) => registered === undefined || registered.includes(scope));
  const scopes = ofClient(known.keys());
  // A client that acts for itself has no user.
  const identity = aboutUser && grantType !== 'client_credentials' ? ofClient(aboutUser.scopes.keys()) : [];
  const isInformed = defaultScopes === undefined;
  const defaults = isInformed ? scopes : scopes.filter((scope) => defaultScopes.includes(scope));
  return { scopes, identity, defaults, isListed: registered !== undefined, isInformed };
}

/**
 * The scopes of a new grant, or of a client's token for itself. `undefined`: it is not limited to scopes. Empty: limited to none.
 *
 * Apps of Laravel Passport request the scope `*` for all that they may have. Unless the API defines it, it decides for client
 * credentials, whatever other scopes are requested, and is ignored otherwise, as in Passport.
 *
 * @param requested - `undefined`: none is named. Empty: none besides `offline_access`
 * @throws InvalidScope of the engine for a scope that the client may not have, and for one about the user without that of the sign-in
 */
export function decideScopes(
  requested: readonly string[] | undefined,
  api: Pick<ResolvedResource, 'scopes'>,
  { defaults, identity, isInformed, isListed, scopes: ofApi }: AllowedScopes,
  { isForItself = false, aboutUser }: { readonly isForItself?: boolean } & Pick<ResolvedOptions, 'aboutUser'>,
): ScopeLimit {
  if (requested?.length === 0) return [];
  const isKnown = (scope: string): boolean => api.scopes.has(scope) || isIdentityScope(scope, aboutUser);
  const isAllowed = (scope: string): boolean => ofApi.includes(scope) || identity.includes(scope);
  const isForAll = requested?.includes('*') === true && !isKnown('*');
  let scopes = isForAll ? requested.filter((scope) => scope !== '*') : (requested ?? []);
  let refused = scopes.filter((scope) => !isAllowed(scope));
  // It requests all scopes that the metadata or a challenge names. The token response says what was granted (RFC 6749 section 3.3).
  if (!isInformed && refused.length < scopes.length && refused.every(isKnown)) {
    scopes = scopes.filter(isAllowed);
    refused = [];
  }
  if (refused.length > 0) throw notAllowed(refused);
  const one = scopes.find((scope) => isIdentityScope(scope, aboutUser));
  if (one !== undefined && !signsIn(scopes, aboutUser))
    throw new errors.InvalidScope(`the scope ${one} needs the scope ${aboutUser!.signIn}`, one);
  if (isForAll && isForItself) scopes = [];
  if (scopes.length > 0) return scopes;
  return isListed ? defaults : undefined;
}

/** For the log the names are left out, because a request may have anything there. */
function notAllowed(scopes: readonly string[]): errors.InvalidScope {
  const text = 'requested scope is not allowed';
  return new errors.InvalidScope(
    `${text}: ${scopes.join(' ').slice(0, LONGEST_NAMES)}`,
    scopes.join(' '),
    text,
  );
}

const LONGEST_NAMES = 200;

/** What is left of a limit: only scopes that the server still defines and the client may still have. */
export function stillAllowed(
  limit: ScopeLimit,
  { identity, isListed, scopes: ofApi }: Pick<AllowedScopes, 'identity' | 'isListed' | 'scopes'>,
  aboutUser: ResolvedOptions['aboutUser'],
): ScopeLimit {
  // When the client was registered with a list of scopes since, the token is limited to that list.
  if (limit === undefined) return isListed ? ofApi : undefined;
  // The others about the user are for a sign-in.
  const named = signsIn(limit, aboutUser) && signsIn(identity, aboutUser) ? identity : [];
  return limit.filter((name) => ofApi.includes(name) || named.includes(name));
}

/**
 * The scopes that the next token of a grant is limited to, as they were granted.
 *
 * @param requested - `undefined`: all that were granted. Empty: none besides `offline_access`
 */
export function grantedLimit(
  { grant, scopes: granted }: { readonly grant: Pick<Grant, 'scopes'>; readonly scopes: readonly string[] },
  requested: readonly string[] | undefined,
): ScopeLimit {
  if (grant.scopes?.length === 0 || requested?.length === 0) return [];
  if (granted.length === 0) return undefined;
  return requested ?? granted;
}
