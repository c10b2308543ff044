import { isDeepStrictEqual } from 'node:util';

import { errors } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { SessionStore } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { currentRequest } from '../engine-request.ts';

// Of the lifetime: by how much the end of a session has to move to be worth a write.
const LEAST_EXTENSION = 0.01;

/**
 * Login sessions. The id in the browser's cookie is a credential: it is the row's hashed key and nowhere else.
 *
 * The engine saves the session in each authorization request. It only ever changes the row that it has found: sessions are
 * begun by logins (see login-session.ts), so that one that was ended stays ended. A row that says the same, and would end
 * less than a hundredth of its lifetime later, stays as it is.
 */
export function sessionAdapter(sessions: SessionStore): Partial<Adapter> {
  return {
    async upsert(_id, { jti: _jti, ...payload }, lifetime = 0) {
      const request = currentRequest();
      // Nobody is logged in on this browser: there is nothing to keep.
      if (!request?.authorization) return;
      const { session: found } = request.authorization;
      const expiresAt = payload.exp!;
      if (isAsGood(found, { expiresAt, content: contentOf(payload) }, lifetime)) return;
      if (!(await sessions.update({ id: found.id, payload, expiresAt }))) {
        request.outcome.beginAgain();
        throw new errors.SessionNotFound('the login session has ended meanwhile');
      }
    },
    async find(value) {
      const id = hashCredential(value);
      const found = await sessions.find(id);
      if (!found || found.session.expiresAt <= now()) return undefined;
      const { session, sequence } = found;
      const payload = session.payload as AdapterPayload;
      const { expiresAt } = session;
      currentRequest()?.foundSession({ id, sequence, expiresAt, content: contentOf(payload) });
      return { ...payload, jti: value };
    },
  };
}

/** What tells whether a session has to be written again. */
interface SessionContent {
  /** In seconds. */
  readonly expiresAt: number;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Whether nothing would be lost if a session stayed as it is kept. */
function isAsGood(kept: SessionContent, wanted: SessionContent, lifetime: number): boolean {
  const extension = wanted.expiresAt - kept.expiresAt;
  const isLittle = extension >= 0 && extension < lifetime * LEAST_EXTENSION;
  return isLittle && isDeepStrictEqual(kept.content, wanted.content);
}

/**
 * What a session says, but for its end and the latest grant of each client: each authorization has a grant of its own
 * (see consent.ts), so nobody asks for those. A copy, because the engine changes the session that it is given.
 */
function contentOf({ authorizations = {}, exp: _exp, ...rest }: AdapterPayload): SessionContent['content'] {
  const clients = Object.entries(authorizations).map(([clientId, { grantId: _grantId, ...others }]) => [
    clientId,
    others,
  ]);
  return { ...rest, authorizations: Object.fromEntries(clients) };
}
