import { isDeepStrictEqual } from 'node:util';

import type { Adapter, AdapterPayload } from 'oidc-provider';

import type { SessionStore, StoredSession } from '../../contracts.ts';
import { hashCredential } from '../hash.ts';
import { currentState } from '../request-state.ts';
import type { KeptSession } from '../request-state.ts';

// Of the lifetime: by how much the end of a session has to move to be worth a write.
const LEAST_EXTENSION = 0.01;

/**
 * Login sessions. The id in the browser's cookie is a credential: it is the row's hashed key and nowhere else.
 *
 * The engine saves the session in each request. A row that says the same, and would end less than a hundredth of its
 * lifetime later, stays as it is: an authorization of somebody who is logged in writes no session.
 */
export function sessionAdapter(sessions: SessionStore): Partial<Adapter> {
  return {
    async upsert(id, { jti: _id, ...payload }, lifetime = 0) {
      const state = currentState();
      const wanted = toKept(id, payload);
      if (state?.session && isAsGood(state.session, wanted, lifetime)) return;
      await sessions.save({
        id: hashCredential(id),
        uid: hashCredential(payload.uid!),
        userId: payload.accountId,
        payload,
        expiresAt: payload.exp!,
      });
      if (state) state.session = wanted;
    },
    async find(id) {
      const session = await sessions.find(hashCredential(id));
      if (!session) return undefined;
      const payload = toPayload(session);
      const state = currentState();
      if (state) state.session = toKept(id, payload);
      return { ...payload, jti: id };
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

function toKept(id: string, payload: AdapterPayload): KeptSession {
  return { id, endsAt: payload.exp!, content: contentOf(payload) };
}

/** Whether nothing would be lost if a session stayed as it is kept. */
function isAsGood(kept: KeptSession, wanted: KeptSession, lifetime: number): boolean {
  const extension = wanted.endsAt - kept.endsAt;
  const isLittle = extension >= 0 && extension < lifetime * LEAST_EXTENSION;
  return isLittle && kept.id === wanted.id && isDeepStrictEqual(kept.content, wanted.content);
}

/**
 * What a session says, but for its end and the latest grant of each client: each authorization has a grant of its own
 * (see consent.ts), so nobody asks for those. A copy, because the engine changes the session that it is given.
 */
function contentOf({ authorizations = {}, exp: _exp, ...rest }: AdapterPayload): KeptSession['content'] {
  const clients = Object.entries(authorizations).map(([clientId, { grantId: _grantId, ...others }]) => [
    clientId,
    others,
  ]);
  return { ...rest, authorizations: Object.fromEntries(clients) };
}
