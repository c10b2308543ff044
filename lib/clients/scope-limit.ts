import type { Consent, Grant } from '../contracts/index.ts';

/**
 * The scopes that a consent, a grant or a token is limited to. Empty: limited to none, so that it permits nothing. `undefined`: not
 * limited, so that it permits all that the user may do.
 */
export type ScopeLimit = readonly string[] | undefined;

/**
 * The limit of a request.
 *
 * @param isLimitedToNone - whether one without scopes is limited to none, because its client is registered for none
 */
export function scopeLimit(scopes: readonly string[], isLimitedToNone: boolean): ScopeLimit {
  return scopes.length > 0 || isLimitedToNone ? scopes : undefined;
}

/*
 * Storages have lists of names for a limit, in which a name that no scope has (RFC 6749 section 3.3) is one of the two cases without
 * names: in a grant, an empty list is no limit; in a consent, which other scopes are added to, it consents to nothing.
 */

const GRANT_LIMITED_TO_NONE = ' ';
const CONSENT_WITHOUT_LIMIT = '';

/** The scopes of a grant as they are stored. */
export function toGrantScopes(limit: ScopeLimit): Grant['scopes'] {
  return limit?.length === 0 ? [GRANT_LIMITED_TO_NONE] : (limit ?? []);
}

/** Whether a grant is limited to no scope. */
export function isGrantLimitedToNoScope({ scopes }: Pick<Grant, 'scopes'>): boolean {
  return scopes.includes(GRANT_LIMITED_TO_NONE);
}

/** The scopes of one API in a consent as they are stored, without the API. */
export function toConsentScopes(limit: ScopeLimit): Consent['scopes'] {
  return limit ?? [CONSENT_WITHOUT_LIMIT];
}

/** The limit of a consent to one API. */
export function consentLimit(scopes: Consent['scopes']): ScopeLimit {
  return scopes.includes(CONSENT_WITHOUT_LIMIT) ? undefined : scopes;
}
