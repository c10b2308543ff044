import { now } from '../contracts/clock.ts';
import type { PassportSource, Storage } from '../contracts/index.ts';
import { accessTokenOf, disconnectionId, ID } from './identifiers.ts';
import type { PassportConsents } from './import-grant.ts';

/**
 * Wraps a storage, so that whoever revokes tokens here also marks those of Passport, and whoever looks for the consents of a user
 * finds those that were given there. A call whose marks fail throws, and can be repeated: what it ends here is ended before.
 */
export function connectStorage(
  storage: Storage,
  {
    importOf,
    isWritable,
    source,
  }: Pick<PassportConsents, 'importOf'> & {
    readonly isWritable: boolean;
    readonly source: Pick<PassportSource, 'revoke' | 'setClientRevoked'>;
  },
): Storage {
  const { clients, consents, grants, revocations, sessions } = storage;

  async function markRevoked(selector: Parameters<PassportSource['revoke']>[0]): Promise<void> {
    if (isWritable) await source.revoke(selector);
  }

  return Object.freeze({
    ...storage,
    clients: {
      ...clients,
      async update(client, ifUpdatedAt) {
        const before = isWritable ? await clients.find(client.id) : undefined;
        const isUpdated = await clients.update(client, ifUpdatedAt);
        if (isUpdated && before && before.client.disabled !== client.disabled)
          await source.setClientRevoked(client.id, client.disabled);
        return isUpdated;
      },
      async delete(id, ifUpdatedAt) {
        const isDeleted = await clients.delete(id, ifUpdatedAt);
        if (isDeleted && isWritable) await source.setClientRevoked(id, true);
        return isDeleted;
      },
    },
    consents: {
      ...consents,
      async list(userId) {
        await importOf(userId);
        return consents.list(userId);
      },
    },
    sessions: {
      ...sessions,
      async find(id, clientId) {
        const found = await sessions.find(id, clientId);
        if (!found || found.consent || clientId === undefined) return found;
        await importOf(found.session.userId, clientId);
        return sessions.find(id, clientId);
      },
    },
    grants: {
      ...grants,
      async revoke(selector, at, by) {
        if (!('id' in selector)) {
          const { clientId, userId } = selector;
          const id = disconnectionId(userId, clientId);
          await revocations.revokeToken({ id, revokedAt: now(), expiresAt: Number.MAX_SAFE_INTEGER });
          const revoked = await grants.revoke(selector, at, by);
          await markRevoked({ userId, clientId });
          return revoked;
        }
        const revoked = await grants.revoke(selector, at, by);
        const accessTokenId = accessTokenOf(selector.id);
        if (accessTokenId !== undefined) await markRevoked({ accessTokenId });
        return revoked;
      },
    },
    revocations: {
      ...revocations,
      async revokeToken(token) {
        await revocations.revokeToken({ ...token, expiresAt: Math.ceil(token.expiresAt) });
        if (ID.test(token.id)) await markRevoked({ accessTokenId: token.id });
      },
      async revokeAllOf(party) {
        await revocations.revokeAllOf(party);
        if (!('all' in party)) await markRevoked(party);
      },
    },
  } satisfies Storage);
}
