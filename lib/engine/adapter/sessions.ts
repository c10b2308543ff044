import type { Adapter, AdapterPayload } from 'oidc-provider';

import type { SessionStore, StoredSession } from '../../contracts.ts';
import { hashCredential } from '../hash.ts';

/** Login sessions. The id in the browser's cookie is a credential: it is the row's hashed key and nowhere else. */
export function sessionAdapter(sessions: SessionStore): Partial<Adapter> {
  return {
    async upsert(id, { jti: _id, ...payload }) {
      await sessions.save({
        id: hashCredential(id),
        uid: hashCredential(payload.uid!),
        userId: payload.accountId,
        payload,
        expiresAt: payload.exp!,
      });
    },
    async find(id) {
      const session = await sessions.find(hashCredential(id));
      return session && { ...toPayload(session), jti: id };
    },
    // The engine looks sessions up by uid only to compare the account, so the id is not needed there.
    async findByUid(uid) {
      const session = await sessions.findByUid(hashCredential(uid));
      return session && toPayload(session);
    },
    async destroy(id) {
      await sessions.remove(hashCredential(id));
    },
  };
}

function toPayload(session: StoredSession): AdapterPayload {
  return session.payload;
}
