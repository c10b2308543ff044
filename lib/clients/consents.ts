import type { AccessTokenClaims, Client, Consent } from '../contracts/index.ts';

// An entry in the scopes of a consent, for a request without scopes by a client without a list of scopes. No scope has an empty
// name.
const WITHOUT_SCOPES = '';

/** The scopes of an authorization request. */
export interface RequestedScopes {
  readonly scopes: readonly string[];
  /** Whether the scopes limit the client. `false` with no scopes: it requests all permissions of the user. */
  readonly limited: boolean;
}

/** The scopes to store in the consent of a request. */
export function consentScopes({ limited, scopes }: RequestedScopes): readonly string[] {
  return scopes.length === 0 && !limited ? [WITHOUT_SCOPES] : scopes;
}

/** Whether the user has consented to a request without scopes, which gives the client all permissions of the user. */
export function isUnlimited({ scopes }: Pick<Consent, 'scopes'>): boolean {
  return scopes.includes(WITHOUT_SCOPES);
}

/**
 * The scopes that limit a token: its own, without those that its client may no longer request; for a token without scopes,
 * those that its client is registered with. `undefined`: no limit, because the token has no scopes and its client has no list
 * of scopes.
 */
export function scopesOf(
  { limited = false, scope = '' }: Pick<AccessTokenClaims, 'limited' | 'scope'>,
  { scopes: allowed }: Pick<Client, 'scopes'>,
): readonly string[] | undefined {
  const granted = scope.split(' ').filter(Boolean);
  if (granted.length > 0) return granted.filter((name) => allowed?.includes(name) ?? true);
  return limited ? [] : allowed;
}
