import type { Consent, ConsentStore } from '../../lib/contracts/index.ts';
import { copy, keyOf } from './tables.ts';
import type { Tables } from './tables.ts';

/** Consents of users to clients. */
export function consentStore(tables: Tables): ConsentStore {
  const { consents } = tables;
  return {
    async find(userId, clientId) {
      return copy(consents.get(keyOf(userId, clientId)));
    },
    async add(consent) {
      addConsent(tables, consent);
    },
    async touch(userId, clientId, at) {
      const key = keyOf(userId, clientId);
      const known = consents.get(key);
      if (known && at > (known.lastUsedAt ?? 0)) consents.set(key, { ...known, lastUsedAt: at });
    },
    async delete(userId, clientId) {
      return consents.delete(keyOf(userId, clientId));
    },
    async deleteAll() {
      const { size } = consents;
      consents.clear();
      return size;
    },
    async list(userId) {
      return [...consents.values()]
        .filter((consent) => consent.userId === userId)
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.clientId < b.clientId ? -1 : 1))
        .map(copy);
    },
  };
}

/** Inserts a consent, or adds its scopes to those of the stored one. */
export function addConsent({ consents }: Tables, consent: Consent): void {
  const key = keyOf(consent.userId, consent.clientId);
  const known = consents.get(key);
  const { createdAt, lastUsedAt } = known ?? consent;
  const scopes = merged(known?.scopes, consent.scopes);
  const hosts = { ...known?.hosts };
  for (const [host, consented] of Object.entries(consent.hosts)) hosts[host] = merged(hosts[host], consented);
  const updatedAt = Math.max(consent.updatedAt, known?.updatedAt ?? 0);
  consents.set(key, { ...consent, scopes, hosts, createdAt, updatedAt, lastUsedAt });
}

function merged(before: readonly string[] = [], scopes: readonly string[] = []): readonly string[] {
  return [...new Set([...before, ...scopes])].toSorted();
}
