import { mergeConsents, NO_SCOPES } from '../../lib/contracts/consents.ts';
import type { Consent, ConsentStore } from '../../lib/contracts/index.ts';
import { changeRow, copy, isUserEnded, keyOf } from './tables.ts';
import type { Tables } from './tables.ts';

/** Consents of users to clients. */
export function consentStore(tables: Tables): ConsentStore {
  const { consents } = tables;
  return {
    async find(userId, clientId) {
      return copy(consents.get(keyOf(userId, clientId)));
    },
    async add(consent, sequence = Infinity) {
      if (!isUserEnded(tables, consent.userId, sequence)) addConsent(tables, consent);
    },
    async touch(userId, clientId, at) {
      const key = keyOf(userId, clientId);
      changeRow(consents, key, ({ lastUsedAt = 0 }) => at > lastUsedAt && { lastUsedAt: at });
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
  const updatedAt = Math.max(consent.updatedAt, known?.updatedAt ?? 0);
  const merged = mergeConsents(known ?? NO_SCOPES, consent);
  consents.set(key, { ...merged, createdAt, updatedAt, lastUsedAt });
}
