import type { SessionStore } from '../../lib/contracts/index.ts';
import { StorageError } from '../../lib/errors.ts';
import { copy, copyWithPayload } from './copy.ts';
import type { Tables } from './tables.ts';

/** Login sessions of browsers. */
export function sessionStore({ ends, sessions }: Tables): SessionStore {
  return {
    async insert(session) {
      if (sessions.has(session.id)) throw new StorageError('A row with this id is there already.');
      sessions.set(session.id, copyWithPayload(session));
    },
    async find(id) {
      const session = sessions.get(id);
      if (!session || session.sequence < (ends.users.get(session.userId) ?? 0)) return undefined;
      return copy({ session, sequence: ends.latest });
    },
    async update({ id, payload, expiresAt }) {
      const session = sessions.get(id);
      if (session) sessions.set(id, copyWithPayload({ ...session, payload, expiresAt }));
      return session !== undefined;
    },
    async remove(id) {
      sessions.delete(id);
    },
    async removeOfUser(userId) {
      const ids = [...sessions.values()].filter((session) => session.userId === userId).map(({ id }) => id);
      for (const id of ids) sessions.delete(id);
      return ids.length;
    },
  };
}
