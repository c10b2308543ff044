import type { InteractionStore, SessionStore } from '../../lib/contracts.ts';
import { copy, copyWithPayload } from './copy.ts';
import type { Tables } from './tables.ts';

/** Login sessions of browsers. */
export function sessionStore({ sessions }: Tables): SessionStore {
  return {
    async save(session) {
      sessions.set(session.id, copyWithPayload(session));
    },
    async find(id) {
      return copy(sessions.get(id));
    },
    async findByUid(uid) {
      // A session that is given a new id is there twice until the old row is removed.
      const [latest] = [...sessions.values()]
        .filter((session) => session.uid === uid)
        .toSorted((a, b) => b.expiresAt - a.expiresAt);
      return copy(latest);
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

/** Open logins and consents. */
export function interactionStore({ interactions }: Tables): InteractionStore {
  return {
    async save(record) {
      interactions.set(record.id, copyWithPayload(record));
    },
    async find(id) {
      return copy(interactions.get(id));
    },
    async remove(id) {
      interactions.delete(id);
    },
  };
}
