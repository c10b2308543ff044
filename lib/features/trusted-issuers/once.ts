import { now } from '../../contracts/clock.ts';
import type { Seconds } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { notAccepted, requireJti, TOLERANCE } from './assertion.ts';
import type { AllowedGrantStore, AssertionClaims, UsedAssertion } from './types.ts';

/** The use of an assertion, for a grant that is not known yet. */
export type Use = Omit<UsedAssertion, 'grantId'>;

// How much longer a used assertion is stored than it is valid, because the clocks of nodes differ.
const NODE_TOLERANCE: Seconds = 300;

/**
 * Describes the use of a verified assertion.
 *
 * @param sequence - the `StoredClient.sequence` of the client
 * @throws InvalidGrant of the engine without a `jti`
 */
export function useOf(claims: AssertionClaims, value: string, sequence: number): Use {
  return {
    id: hashCredential(JSON.stringify([claims.iss, requireJti(claims)])),
    digest: hashCredential(value),
    sequence,
    usedAt: now(),
    expiresAt: Math.ceil(claims.exp) + TOLERANCE + NODE_TOLERANCE,
  };
}

/**
 * Spends an assertion for a grant. Resolves to `true` when it was spent a moment ago, by the same client and for the same grant: the client
 * has not got the answer. An end of the client, or of the grant, between the two refuses the second.
 *
 * @param grace - how long a moment is, `tokens.refreshGrace`
 * @throws InvalidGrant of the engine when it was used before
 */
export async function isSpentAgain(
  store: Pick<AllowedGrantStore, 'findUse' | 'use'>,
  use: UsedAssertion,
  grace: Seconds,
): Promise<boolean> {
  if (await store.use(use)) return false;
  const before = await store.findUse(use.id);
  if (
    before?.digest === use.digest &&
    before.sequence === use.sequence &&
    before.grantId === use.grantId &&
    before.usedFor < grace
  )
    return true;
  throw notAccepted('it was used before');
}
