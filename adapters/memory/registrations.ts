import type {
  Client,
  RegistrationPlaces,
  RegistrationStore,
  Seconds,
  StoredRegistration,
} from '../../lib/contracts/index.ts';
import { deleteClient, insertClient } from './clients.ts';
import { addConsent } from './consents.ts';
import { copy, end, isUserEnded, keyOf, throwIfTaken } from './tables.ts';
import type { Tables } from './tables.ts';

/** Registrations of clients that registered themselves. */
export function registrationStore(tables: Tables): RegistrationStore {
  const { clients, registrations, soleUsers } = tables;
  return {
    async insert({ client, secrets, registration }, places) {
      const isFull = registrations.size >= places.limit;
      const displaced = isFull ? givingWay(tables, places) : undefined;
      if (isFull && !displaced) return undefined;
      throwIfTaken(clients, client.id);
      if (displaced) {
        end(tables, { clientId: displaced.id });
        registrations.delete(displaced.id);
        deleteClient(tables, displaced.id);
      }
      insertClient(tables, client, secrets);
      registrations.set(client.id, copy(registration));
      return displaced ? [displaced] : [];
    },
    async find(clientId) {
      return copy(registrations.get(clientId));
    },
    async removeToken(clientId) {
      const registration = registrations.get(clientId);
      if (registration) registrations.set(clientId, { ...registration, tokenHash: '' });
    },
    async addConsent(consent, sequence = Infinity) {
      const { clientId, updatedAt, userId } = consent;
      const registration = registrations.get(clientId);
      if (!registration || isUserEnded(tables, userId, sequence)) return false;
      const removableAt = Math.max(registration.removableAt, updatedAt + registration.unusedAfter);
      registrations.set(clientId, { ...registration, removableAt });
      const before = soleUsers.get(clientId) ?? userId;
      soleUsers.set(clientId, before === userId ? before : '');
      addConsent(tables, consent);
      return true;
    },
    async deleteUnused(now, limit) {
      const removable = [...registrations.values()]
        .filter(({ removableAt }) => removableAt < now)
        .slice(0, limit);
      const deleted: Pick<Client, 'id' | 'name'>[] = [];
      for (const registration of removable) {
        const { clientId: id, unusedAfter } = registration;
        const client = clients.get(id)?.client;
        if (client?.disabled || isUsed(tables, registration, now)) {
          registrations.set(id, { ...registration, removableAt: now + unusedAfter });
          continue;
        }
        registrations.delete(id);
        deleteClient(tables, id);
        if (client) deleted.push({ id, name: client.name });
      }
      return { deleted, seen: removable.length };
    },
  };
}

/** The client that gives way to a further one. */
function givingWay(
  { clients, consents, grants, registrations, soleUsers }: Tables,
  { now, perUser, unusedSince }: RegistrationPlaces,
): Pick<Client, 'id' | 'name'> | undefined {
  const enabled = [...registrations.values()].filter(
    ({ clientId }) => clients.get(clientId)?.client.disabled === false,
  );
  const lastUse = ({ clientId }: StoredRegistration): Seconds => {
    const { lastUsedAt = 0, updatedAt = 0 } = consents.get(keyOf(soleUsers.get(clientId)!, clientId)) ?? {};
    return Math.max(lastUsedAt, updatedAt);
  };
  const isAuthorized = ({ clientId }: StoredRegistration): boolean =>
    [...consents.values()].some((consent) => consent.clientId === clientId) ||
    [...grants.values()].some(
      ({ grant, neededUntil }) =>
        grant.clientId === clientId && grant.revokedAt === undefined && neededUntil >= now,
    );
  const unauthorized = enabled.filter(
    (registration) => !soleUsers.has(registration.clientId) && !isAuthorized(registration),
  );
  const ofNetwork = Map.groupBy(unauthorized, ({ network }) => network);
  const ofOne = enabled.filter(({ clientId }) => (soleUsers.get(clientId) ?? '') !== '');
  const ofUser = Map.groupBy(ofOne, ({ clientId }) => soleUsers.get(clientId)!);
  const [first] = [
    ...largest(ofNetwork, 1).toSorted((a, b) => a.removableAt - b.removableAt),
    ...largest(ofUser, perUser + 1).toSorted((a, b) => lastUse(a) - lastUse(b)),
    ...ofOne
      .filter((registration) => lastUse(registration) < unusedSince)
      .toSorted((a, b) => lastUse(a) - lastUse(b)),
  ];
  return first && { id: first.clientId, name: clients.get(first.clientId)!.client.name };
}

function largest(
  groups: ReadonlyMap<string, readonly StoredRegistration[]>,
  least: number,
): readonly StoredRegistration[] {
  const [first = []] = [...groups.values()].toSorted((a, b) => b.length - a.length);
  return first.length >= least ? first : [];
}

function isUsed(
  { consents, grants }: Tables,
  { clientId, unusedAfter }: StoredRegistration,
  now: Seconds,
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
