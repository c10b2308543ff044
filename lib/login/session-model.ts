import { isDeepStrictEqual } from 'node:util';

import { errors } from '../engine/oidc-provider.ts';
import type { Model } from '../engine/calls-without-context.ts';

import type { ImportConsents } from '../clients/consents.ts';
import { now } from '../contracts/clock.ts';
import type { LoginSession } from '../contracts/browser-request.ts';
import type { FoundSession, Seconds, SessionStore, StoredSession } from '../contracts/index.ts';
import { hashCredential } from '../keys/hash.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

// A fraction of the lifetime. A session whose end would move by less is not written.
const MIN_EXTENSION = 0.01;

/** The same for a session that is at its absolute end, and only has another last use. */
const USED_TO: Seconds = 3600;

/**
 * Login sessions. The id in the browser's cookie is a credential: it is the row's hashed key and nowhere else.
 *
 * The engine saves the session in each authorization request. A save updates the row that was found and never inserts one:
 * only a login inserts a session (see login-session.ts), so a session that was ended cannot return. The update is skipped when
 * the content is unchanged and the end would move by less than a hundredth of the lifetime.
 *
 * What the engine notes in the session of each client, `authorizations`, is for its own grants and for logouts that it sends to
 * clients. Neither is used here, so it is not stored: a first authorization by a client writes no session.
 */
export function sessionAdapter(sessions: SessionStore, importConsents?: ImportConsents): Model {
  return {
    async upsert(request, _id, payload, lifetime = 0) {
      // The engine saves the empty session of a browser without a login too.
      if (!request?.session) return;
      const { session: stored } = request.session;
      const content = contentOf(payload);
      const expiresAt = payload.exp!;
      if (isUpToDate(stored, { content, expiresAt }, lifetime)) return;
      const used = { id: stored.id, payload: { ...content, exp: expiresAt }, expiresAt, lastUsedAt: now() };
      if (!(await sessions.update(used))) {
        request.mustRestart = true;
        throw new errors.SessionNotFound('the login session has ended meanwhile');
      }
    },
    async find(request, value) {
      const named = request?.parameters?.['client_id'];
      const clientId = typeof named === 'string' ? named : undefined;
      let found = await findSession(sessions, value, clientId);
      if (found && importConsents && clientId !== undefined && !found.consent) {
        await importConsents(found.session.userId, clientId);
        found = await findSession(sessions, value, clientId);
      }
      if (!found) return undefined;
      if (request) request.session = found;
      return { ...found.session.payload, jti: value };
    },
  };
}

/** Finds the session that a cookie names, unless it has expired or was ended. */
export async function findSession(
  sessions: Pick<SessionStore, 'find'>,
  cookie: string,
  clientId?: string,
): Promise<FoundSession | undefined> {
  const found = await sessions.find(hashCredential(cookie), clientId);
  return found && found.session.expiresAt > now() ? found : undefined;
}

export function toLoginSession({ sequence, session: { id, payload } }: FoundSession): LoginSession {
  return { ...(payload as unknown as LoginSession), id, sequence };
}

type SessionContent = Readonly<Record<string, unknown>>;

/** Whether the stored session may stay as it is. */
function isUpToDate(
  stored: StoredSession,
  wanted: { readonly content: SessionContent; readonly expiresAt: Seconds },
  lifetime: Seconds,
): boolean {
  const extension = wanted.expiresAt - stored.expiresAt;
  const isSmall = extension >= 0 && extension < lifetime * MIN_EXTENSION;
  const isAtEnd = extension === 0 && now() - stored.lastUsedAt >= USED_TO;
  return isSmall && !isAtEnd && isDeepStrictEqual(contentOf(stored.payload), wanted.content);
}

/** The content of a session without its id and its end. */
function contentOf({
  authorizations: _authorizations,
  exp: _exp,
  jti: _jti,
  ...rest
}: SessionContent): SessionContent {
  return rest;
}

/**
 * The end of a login session that is used now: after the idle time, at most at the absolute end, which counts from its beginning. The
 * login at the host may be older.
 */
export function sessionEnd(
  { iat = now() }: { readonly iat?: Seconds | undefined },
  { session, sessionAbsolute }: ResolvedOptions['tokens']['lifetimes'],
): Seconds {
  return Math.min(now() + session, iat + sessionAbsolute);
}
