import type { RevocationStore } from '../../lib/contracts/index.ts';
import { copy } from './copy.ts';
import { end, isLive } from './tables.ts';
import type { Tables } from './tables.ts';

/** Access tokens that were revoked, and users and clients that were ended. */
export function revocationStore(tables: Tables): RevocationStore {
  const { ends, grants, revokedTokens } = tables;
  return {
    async add(token) {
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
    async end(party) {
      end(tables, party);
    },
    async sequence() {
      return ends.latest;
    },
    async stands({ id, clientId, grant, sequence }) {
      if (revokedTokens.has(id)) return false;
      if (!grant) return sequence >= (ends.clients.get(clientId) ?? 0);
      const found = grants.get(grant.id)?.grant;
      return found?.userId === grant.userId && found.clientId === clientId && isLive(tables, found);
    },
  };
}
