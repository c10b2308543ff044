import type { Grant, RevocationStore, RevokedParty } from '../../lib/contracts/index.ts';
import { revokeGrants } from './logouts.ts';
import { copy, end, endOfClient, isLive } from './tables.ts';
import type { Tables } from './tables.ts';

/** Revoked access tokens, and users and clients whose tokens, grants and sessions were ended. */
export function revocationStore(tables: Tables): RevocationStore {
  const { ends, grants, revokedTokens } = tables;
  return {
    async revokeToken(token) {
      const known = revokedTokens.get(token.id);
      revokedTokens.set(
        token.id,
        copy({
          ...token,
          revokedAt: Math.max(token.revokedAt, known?.revokedAt ?? 0),
          expiresAt: Math.max(token.expiresAt, known?.expiresAt ?? 0),
        }),
      );
    },
    async revokeAllOf(party, notice) {
      end(tables, party);
      if (notice) revokeGrants(tables, (grant) => isSignIn(grant, party), { at: notice.createdAt, notice });
    },
    async latestSequence() {
      return ends.latest;
    },
    async isValid({ id, clientId, grant, sequence }) {
      if (revokedTokens.has(id)) return false;
      if (!grant) return sequence >= endOfClient(tables, clientId);
      const found = grants.get(grant.id)?.grant;
      return found?.userId === grant.userId && found.clientId === clientId && isLive(tables, found);
    },
  };
}

function isSignIn({ clientId, sessionUid, userId }: Grant, party: RevokedParty): boolean {
  if (sessionUid === undefined) return false;
  if ('all' in party) return true;
  return 'userId' in party ? userId === party.userId : clientId === party.clientId;
}
