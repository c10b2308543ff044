import type { ConsentStore } from '../../lib/contracts/index.ts';
import { copy, keyOf } from './tables.ts';
import type { Tables } from './tables.ts';

/** What people have authorized, remembered. */
export function consentStore({ consents }: Tables): ConsentStore {
  return {
    async find(userId, clientId) {
      return copy(consents.get(keyOf(userId, clientId)));
    },
    async add(consent) {
      const key = keyOf(consent.userId, consent.clientId);
      const known = consents.get(key);
      const { createdAt, lastUsedAt } = known ?? consent;
      const scopes = merged(known?.scopes, consent.scopes);
      const hosts = { ...known?.hosts };
      for (const [host, agreed] of Object.entries(consent.hosts)) hosts[host] = merged(hosts[host], agreed);
      const updatedAt = Math.max(consent.updatedAt, known?.updatedAt ?? 0);
      consents.set(key, { ...consent, scopes, hosts, createdAt, updatedAt, lastUsedAt });
    },
    async touch(userId, clientId, at) {
      const key = keyOf(userId, clientId);
      const known = consents.get(key);
      if (known && at > (known.lastUsedAt ?? 0)) consents.set(key, { ...known, lastUsedAt: at });
    },
    async delete(userId, clientId) {
      return consents.delete(keyOf(userId, clientId));
    },
    async list(userId) {
      return [...consents.values()]
        .filter((consent) => consent.userId === userId)
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.clientId < b.clientId ? -1 : 1))
        .map(copy);
    },
  };
}

function merged(before: readonly string[] = [], scopes: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...scopes])].toSorted();
}
