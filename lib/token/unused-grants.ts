import { now } from '../contracts/clock.ts';
import type { AuditLog, AuditOrigin, Grant, GrantStore } from '../contracts/index.ts';

// Of one user for one client. A site to which the user signs in every day needs one for each browser; the others are of sign-ins whose
// refresh token is not used any more. Without a bound, a user and an app could add rows for as long as a refresh token lives.
const MOST_GRANTS = 200;

// Requests at once, on all nodes, have counted the same grants.
const AT_ONCE = 20;

/**
 * Ends the grants of a user for a client that were not used for the longest time, after a new one was stored: a user has 200 for each
 * client at most.
 *
 * @param counted - how many there were before the new one. @default not known
 */
export type EndUnusedGrants = (
  grant: Pick<Grant, 'clientId' | 'id' | 'userId'>,
  origin: AuditOrigin,
  counted?: number,
) => Promise<void>;

export function createEndUnusedGrants(
  grants: Pick<GrantStore, 'endUnused'>,
  audit: Pick<AuditLog, 'record'>,
): EndUnusedGrants {
  return async function endUnusedGrants({ clientId, id: kept, userId }, origin, counted = MOST_GRANTS) {
    if (counted < MOST_GRANTS - AT_ONCE) return;
    const ended = await grants.endUnused({ userId, clientId, kept }, MOST_GRANTS, now());
    for (const grantId of ended)
      audit.record({ type: 'tokens_revoked', target: 'grant', clientId, userId, grantId }, origin);
  };
}
