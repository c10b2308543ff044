import type { RevocationStore } from '../../lib/contracts.ts';
import { copy } from './copy.ts';
import { addRevocation, keyOf } from './tables.ts';
import type { Tables } from './tables.ts';

/** Tokens, grants and clients whose signed tokens must stop working. */
export function revocationStore(tables: Tables): RevocationStore {
  const { revocations } = tables;
  return {
    async add(revocation) {
      addRevocation(tables, revocation);
    },
    async among(keys) {
      const asked = new Set(keys.map(({ kind, value }) => keyOf(kind, value)));
      return [...asked].flatMap((key) => revocations.get(key) ?? []).map(copy);
    },
    async since(time) {
      return [...revocations.values()]
        .filter(({ revokedAt }) => revokedAt >= time)
        .toSorted((a, b) => a.revokedAt - b.revokedAt)
        .map(copy);
    },
  };
}
