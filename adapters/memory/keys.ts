import type { KeyStore } from '../../lib/contracts/index.ts';
import { copy } from './copy.ts';
import type { Tables } from './tables.ts';

/** The server's own keys. */
export function keyStore({ keys }: Tables): KeyStore {
  return {
    async list(use) {
      return [...keys.values()]
        .filter((key) => key.use === use)
        .toSorted((a, b) => a.generation - b.generation)
        .map(copy);
    },
    async add(key) {
      const taken = [...keys.values()].some(
        ({ id, use, generation }) => id === key.id || (use === key.use && generation === key.generation),
      );
      if (!taken) keys.set(key.id, copy(key));
      return !taken;
    },
    async retire(id, retiresAt) {
      const key = keys.get(id);
      if (key) keys.set(id, { ...key, retiresAt });
    },
  };
}
