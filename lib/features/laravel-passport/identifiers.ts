import type { Seconds } from '../../contracts/duration.ts';
import type { ScopeLimit } from '../../clients/consents.ts';
import { hashCredential } from '../../keys/hash.ts';

/** The reader of the outbox of ends. */
export const READER = 'passport';

/** The id of a token of Passport: 40 random bytes. */
export const ID: RegExp = /^[\da-f]{80}$/;

// No id of this server has this form: its grants have UUIDs, its credentials hashes.
const ACCESS = 'passport-access-';
const REFRESH = 'passport-refresh-';

/** The grant of an access token of Passport, and of the refresh token that is exchanged: each is imported once, on all nodes. */
export const accessTokenGrantId = (id: string): string => ACCESS + id;
export const refreshTokenGrantId = (id: string): string => REFRESH + id;

/** The id of the access token of a grant. */
export function accessTokenOf(grantId: string): string | undefined {
  return grantId.startsWith(ACCESS) ? grantId.slice(ACCESS.length) : undefined;
}

/** The id of the mark which says that this server has marked the row of a refresh token at Passport. */
export const claimId = (id: string): string => `passport-claim-${id}`;

/** The id of the mark which says that a user has disconnected a client, for tokens that are not marked at Passport. */
export function disconnectionId(userId: string, clientId: string): string {
  return `passport-${hashCredential(JSON.stringify([userId, clientId]))}`;
}

// The storage lets the clocks of nodes differ by this much.
const CLOCK_DIFFERENCE: Seconds = 5;

/**
 * The sequence number of a token among the ends of users, clients and all, whose numbers are at least the time in microseconds (see
 * `RevocationStore`). A token that was issued a few seconds after an end counts as ended, because the clock of another machine has set
 * its time.
 */
export function sequenceAt(issuedAt: Seconds): number {
  return Math.max(Math.floor((issuedAt - CLOCK_DIFFERENCE) * 1_000_000), 0);
}

/**
 * The scopes of this server for scopes of Passport. `*`, or no scope, permits all that the user may do; scopes that the API does not
 * define permit nothing.
 */
export function mapScopes(
  names: readonly string[],
  { scopes: known }: { readonly scopes: ReadonlyMap<string, unknown> },
): ScopeLimit {
  if (names.length === 0 || names.includes('*')) return undefined;
  return [...new Set(names)].filter((name) => known.has(name));
}
