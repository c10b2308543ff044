import { KEPT_NETWORKS } from '../../lib/contracts/personal-tokens.ts';
import type { PersonalToken, PersonalTokenStore } from '../../lib/contracts/index.ts';
import { changeRow, copy, endOfUser, isUserEnded, throwIfTaken } from './tables.ts';
import type { StoredPersonalToken, Tables } from './tables.ts';

/** Personal access tokens. */
export function personalTokenStore(tables: Tables): PersonalTokenStore {
  const { personalTokens } = tables;

  function live(isWanted: (row: StoredPersonalToken) => boolean): readonly PersonalToken[] {
    const rows = [...personalTokens.values()].filter(
      (row) => isWanted(row) && row.sequence >= endOfUser(tables, row.userId),
    );
    return rows.map(({ hash: _hash, networks: _networks, sequence: _sequence, ...token }) => copy(token));
  }

  return {
    async insert(token, { limit, now }) {
      const ofUser = [...personalTokens.values()].filter(({ userId }) => userId === token.userId);
      for (const { expiresAt, id, sequence } of ofUser) {
        if (expiresAt <= now || sequence < endOfUser(tables, token.userId)) personalTokens.delete(id);
      }
      if (isUserEnded(tables, token.userId, token.sequence)) return true;
      throwIfTaken(personalTokens, token.id);
      if (live(({ userId }) => userId === token.userId).length >= limit) return false;
      personalTokens.set(token.id, {
        ...copy(token),
        lastUsedAt: undefined,
        lastUsedFrom: undefined,
        networks: [],
      });
      return true;
    },
    findByHash: async (hash) => live((row) => row.hash === hash)[0],
    find: async (id) => live((row) => row.id === id)[0],
    async list(userId, now) {
      return live((row) => row.userId === userId && row.expiresAt > now).toSorted(
        (a, b) => b.createdAt - a.createdAt || (a.id < b.id ? -1 : 1),
      );
    },
    delete: async (id) => personalTokens.delete(id),
    async recordUse(id, { address, at, network }) {
      const networks = personalTokens.get(id)?.networks;
      if (!networks) return false;
      const isNew = !networks.includes(network);
      changeRow(personalTokens, id, ({ lastUsedAt = 0 }) => ({
        networks: isNew ? [...networks, network].slice(-KEPT_NETWORKS) : networks,
        ...(at >= lastUsedAt && { lastUsedAt: at, lastUsedFrom: address }),
      }));
      return isNew;
    },
  };
}
