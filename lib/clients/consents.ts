import type { AccessTokenClaims, Client, Consent } from '../contracts/index.ts';

// Stands among the scopes of a consent for a request that named none and was limited to none. No scope has an empty name.
const WITHOUT_SCOPES = '';

/** What an app asks for. */
export interface Wanted {
  readonly scopes: readonly string[];
  /** To these scopes, also where there are none; otherwise none stands for all that the person may do. */
  readonly limited: boolean;
}

/** What is remembered of a request that somebody agreed to. */
export function consentScopes({ limited, scopes }: Wanted): readonly string[] {
  return scopes.length === 0 && !limited ? [WITHOUT_SCOPES] : scopes;
}

/** Whether somebody agreed to a request without scopes: then the app may do all that they may do. */
export function isUnlimited({ scopes }: Pick<Consent, 'scopes'>): boolean {
  return scopes.includes(WITHOUT_SCOPES);
}

/**
 * The scopes that a token is good for: its own, as far as its client may still have them. One without scopes has those that
 * its client is registered with. `undefined`: none limits it, because it was asked for without and its client has no list.
 */
export function scopesOf(
  { limited = false, scope = '' }: Pick<AccessTokenClaims, 'limited' | 'scope'>,
  { scopes: allowed }: Pick<Client, 'scopes'>,
): readonly string[] | undefined {
  const granted = scope.split(' ').filter(Boolean);
  if (granted.length > 0) return granted.filter((name) => allowed?.includes(name) ?? true);
  return limited ? [] : allowed;
}
