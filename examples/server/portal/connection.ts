import { timingSafeEqual } from 'node:crypto';

import { PlatformError, exchangeCode, newAuthorizationRequest, refreshTokens } from './platform.ts';
import type { Registration } from './platform.ts';
import type { Notice, Session } from './session.ts';

/** Creates an authorization request: returns its URL, and the session with its state. */
export function startConnecting(
  registration: Registration,
  session: Session,
): { url: string; session: Session } {
  const { url, ...request } = newAuthorizationRequest(registration);
  // The size of the cookie limits the number of pending requests (one per tab).
  return { url, session: { ...session, pending: [...session.pending, request].slice(-4) } };
}

/** Reads the authorization response and exchanges the code for tokens. Resolves to the new session. */
export async function finishConnecting(
  registration: Registration,
  session: Session,
  answer: URLSearchParams,
): Promise<Session> {
  const request = session.pending.find(({ state }) => equal(state, answer.get('state') ?? ''));
  if (!request)
    return {
      ...session,
      notice: problem('This response does not belong to a request of the portal. Connect again.'),
    };

  const remaining = { ...session, pending: session.pending.filter((other) => other !== request) };
  // RFC 9207 section 2.4: a response of another authorization server is refused.
  if (answer.get('iss') !== registration.baseUrl)
    return { ...remaining, notice: problem('This response is from another authorization server.') };

  const code = answer.get('code');
  if (!code) return { ...remaining, notice: noticeOf(answer.get('error')) };
  try {
    const tokens = await exchangeCode(registration, code, request.codeVerifier);
    return { ...remaining, tokens, notice: { kind: 'success', text: 'Connected.' } };
  } catch (error) {
    return { ...remaining, notice: explain(error) };
  }
}

/** Exchanges the refresh token for new tokens. Resolves to the new session. */
export async function refresh(registration: Registration, session: Session): Promise<Session> {
  if (!session.tokens) return session;
  try {
    const tokens = await refreshTokens(registration, session.tokens.refreshToken);
    return { ...session, tokens, notice: { kind: 'success', text: 'The portal has a new access token.' } };
  } catch (error) {
    const refused = error instanceof PlatformError && error.status >= 400 && error.status < 500;
    // A refused refresh token (4xx) stays refused; other errors can be temporary.
    if (refused)
      return {
        pending: session.pending,
        notice: problem('The connection has ended. Connect again.'),
      };
    return { ...session, notice: explain(error) };
  }
}

function noticeOf(error: string | null): Notice {
  if (error === 'access_denied') {
    return {
      kind: 'plain',
      text: 'You chose not to connect. Nothing was shared, and you can connect whenever you like.',
    };
  }
  return problem('The platform could not connect you. Try again in a moment.');
}

function explain(error: unknown): Notice {
  if (error instanceof PlatformError) return problem(`The connection was not made: ${error.message}`);
  throw error;
}

function problem(text: string): Notice {
  return { kind: 'problem', text };
}

function equal(one: string, other: string): boolean {
  return one.length === other.length && timingSafeEqual(Buffer.from(one), Buffer.from(other));
}
