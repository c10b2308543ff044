import { DAY } from '../../lib/contracts/duration.ts';
import { PASSPORT_USE_KEPT } from '../../lib/contracts/passport.ts';
import type { PassportUseStore } from '../../lib/contracts/index.ts';
import { keyOf } from './tables.ts';
import type { Tables } from './tables.ts';

/** The tokens of Passport that were used within a week. */
export function passportUseStore({ passportUses }: Pick<Tables, 'passportUses'>): PassportUseStore {
  return {
    async record(uses) {
      for (const { at, ...use } of uses) {
        const latest = Math.max(at, passportUses.get(use.id)?.at ?? 0);
        passportUses.set(use.id, { ...use, at: latest, expiresAt: latest + PASSPORT_USE_KEPT });
      }
    },
    async count(at) {
      const used = [...passportUses.values()].filter(({ expiresAt }) => expiresAt > at);
      const groups = Map.groupBy(used, ({ clientId, kind }) => keyOf(clientId, kind));
      return Array.from(groups.values(), (group) => ({
        clientId: group[0]!.clientId,
        kind: group[0]!.kind,
        lastDay: group.filter((use) => use.at > at - DAY).length,
        lastWeek: group.length,
      }));
    },
  };
}
