import type { Grant } from '../contracts.ts';

/*
 * A grant without scopes stands for all that its user may do. One that was asked for without scopes by a client that is
 * registered for none, may do nothing, and has to stay so when the client is registered for some later.
 */

// Stands among the scopes of a grant. No scope has a space in its name (RFC 6749 section 3.3).
const NOTHING = ' ';

/** What is kept of the scopes of a grant. */
export function toGrantScopes(scopes: readonly string[], isNothing: boolean): readonly string[] {
  return isNothing ? [NOTHING] : scopes;
}

/** Whether a grant was limited to no scope at all. */
export function isLimitedToNothing({ scopes }: Pick<Grant, 'scopes'>): boolean {
  return scopes.includes(NOTHING);
}
