import type { Client, RegistrationStore, StoredRegistration } from '../../lib/contracts/index.ts';
import { deleteClient } from './clients.ts';
import { copy, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Registrations of clients that registered themselves. */
export function registrationStore(tables: Tables): RegistrationStore {
  const { clients, registrations } = tables;
  return {
    async insert({ client, secrets, registration }, limit) {
      if (registrations.size >= limit) return false;
      throwIfTaken(clients, client.id);
      clients.set(client.id, {
        client: copy(client),
        secrets: new Map(secrets.map((secret) => [secret.id, copy(secret)])),
      });
      registrations.set(client.id, copy(registration));
      return true;
    },
    async find(clientId) {
      return copy(registrations.get(clientId));
    },
    async removeUnused(now, limit) {
      const removable = [...registrations.values()]
        .filter(({ removableAt }) => removableAt < now)
        .slice(0, limit);
      const removed: Pick<Client, 'id' | 'name'>[] = [];
      for (const registration of removable) {
        const { clientId: id, unusedAfter } = registration;
        const client = clients.get(id)?.client;
        if (client?.disabled || isUsed(tables, registration, now)) {
          registrations.set(id, { ...registration, removableAt: now + unusedAfter });
          continue;
        }
        registrations.delete(id);
        deleteClient(tables, id);
        if (client) removed.push({ id, name: client.name });
      }
      return { removed, seen: removable.length };
    },
  };
}

function isUsed(
  { consents, grants }: Tables,
  { clientId, unusedAfter }: StoredRegistration,
  now: number,
): boolean {
  const since = now - unusedAfter;
  const ofClient = [...consents.values()].filter((consent) => consent.clientId === clientId);
  if (ofClient.some(({ lastUsedAt = 0, updatedAt }) => Math.max(updatedAt, lastUsedAt) > since)) return true;
  return [...grants.values()]
    .filter(({ grant }) => grant.clientId === clientId)
    .some(({ grant: { createdAt, revokedAt }, neededUntil }) => {
      if (revokedAt === undefined && neededUntil >= now) return true;
      return createdAt > since || (revokedAt ?? 0) > since;
    });
}
