import type { AttemptStore } from '../../lib/contracts/index.ts';
import type { Tables } from './tables.ts';

/** How often something was tried that can be guessed. */
export function attemptStore({ attempts }: Tables): AttemptStore {
  return {
    async count(id, { limit, now, expiresAt }) {
      const row = attempts.get(id);
      if (!row || row.expiresAt <= now) {
        attempts.set(id, { count: 1, expiresAt });
        return undefined;
      }
      if (row.count >= limit) return row.expiresAt;
      attempts.set(id, { ...row, count: row.count + 1 });
      return undefined;
    },
    async giveBack(id) {
      const row = attempts.get(id);
      if (row && row.count > 0) attempts.set(id, { ...row, count: row.count - 1 });
    },
    async forget(id) {
      attempts.delete(id);
    },
  };
}
