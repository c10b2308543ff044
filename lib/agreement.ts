import type { Consent } from './contracts.ts';

// Stands among the scopes of a consent for a request that named none. No scope has an empty name.
const WITHOUT_SCOPES = '';

/** What is remembered of a request for these scopes that somebody agreed to. */
export function toAgreement(scopes: readonly string[]): readonly string[] {
  return scopes.length === 0 ? [WITHOUT_SCOPES] : scopes;
}

/** Whether somebody agreed to a request without scopes: then the app may do all that they may do. */
export function isUnlimited({ scopes }: Pick<Consent, 'scopes'>): boolean {
  return scopes.includes(WITHOUT_SCOPES);
}
