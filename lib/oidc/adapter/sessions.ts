import { isDeepStrictEqual } from 'node:util';

import { errors } from 'oidc-provider';
import type { Adapter, AdapterPayload } from 'oidc-provider';

import { now } from '../../contracts/clock.ts';
import type { SessionStore } from '../../contracts/index.ts';
import { hashCredential } from '../../keys/hash.ts';
import { currentRequest } from '../engine-request.ts';

// A fraction of the lifetime. A session whose end would move by less is not written.
const MIN_EXTENSION = 0.01;

/**
 * Login sessions. The id in the browser's cookie is a credential: it is the row's hashed key and nowhere else.
 *
 * The engine saves the session in each authorization request. A save updates the row that was found and never inserts one:
 * only a login inserts a session (see login-session.ts), so a session that was ended cannot return. The update is skipped when
 * the content is unchanged and the end would move by less than a hundredth of the lifetime.
 */
export function sessionAdapter(sessions: SessionStore): Partial<Adapter> {
  return {
    async upsert(_id, { jti: _jti, ...payload }, lifetime = 0) {
      const request = currentRequest();
      // The engine saves the empty session of a browser without a login too.
      if (!request?.authorization) return;
      const { session: found } = request.authorization;
      const expiresAt = payload.exp!;
      if (isUpToDate(found, { expiresAt, content: contentOf(payload) }, lifetime)) return;
      if (!(await sessions.update({ id: found.id, payload, expiresAt }))) {
        request.outcome.restartAuthorization();
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
      currentRequest()?.recordSession({ id, sequence, expiresAt, content: contentOf(payload) });
      return { ...payload, jti: value };
    },
  };
}

/** The parts of a session that are compared to decide whether it has to be written. */
interface SessionContent {
  /** In seconds. */
  readonly expiresAt: number;
  readonly content: Readonly<Record<string, unknown>>;
}

/** Whether the stored session may stay as it is. */
function isUpToDate(stored: SessionContent, wanted: SessionContent, lifetime: number): boolean {
  const extension = wanted.expiresAt - stored.expiresAt;
  const isSmall = extension >= 0 && extension < lifetime * MIN_EXTENSION;
  return isSmall && isDeepStrictEqual(stored.content, wanted.content);
}

/**
 * The content of a session without its end and without the last grant of each client, which is never read because each
 * authorization gets a grant of its own (see consent.ts). A copy, because the engine changes the session object that it gets.
 */
function contentOf({ authorizations = {}, exp: _exp, ...rest }: AdapterPayload): SessionContent['content'] {
  const clients = Object.entries(authorizations).map(([clientId, { grantId: _grantId, ...others }]) => [
    clientId,
    others,
  ]);
  return { ...rest, authorizations: Object.fromEntries(clients) };
}
