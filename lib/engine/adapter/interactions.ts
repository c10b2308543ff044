import type { Adapter, AdapterPayload } from 'oidc-provider';

import type { InteractionStore } from '../../contracts.ts';
import { hashCredential } from '../hash.ts';

/** Open logins and consents. The id in the browser's cookies is a credential: it is the row's hashed key and nowhere else. */
export function interactionAdapter(interactions: InteractionStore): Partial<Adapter> {
  return {
    async upsert(id, { jti: _id, ...payload }) {
      await interactions.save({
        id: hashCredential(id),
        payload: { ...withoutCookie(payload), returnTo: payload.returnTo?.replace(id, '') },
        expiresAt: payload.exp!,
      });
    },
    async find(id) {
      const record = await interactions.find(hashCredential(id));
      if (!record) return undefined;
      const payload = record.payload as AdapterPayload;
      // The URL at which the engine goes on ends in the id.
      return { ...payload, jti: id, returnTo: `${payload.returnTo}${id}` };
    },
    async destroy(id) {
      await interactions.remove(hashCredential(id));
    },
  };
}

// The engine copies the session id into the interaction and never reads it back; it is a credential, so it is dropped.
function withoutCookie(payload: AdapterPayload): Record<string, unknown> {
  const session = payload['session'] as Record<string, unknown> | undefined;
  if (!session) return { ...payload };
  const { cookie: _cookie, ...rest } = session;
  return { ...payload, session: rest };
}
