import { timingSafeEqual } from 'node:crypto';

import { PlatformError, exchangeCode, newAuthorizationRequest, refreshTokens } from './platform.ts';
import type { Registration } from './platform.ts';
import type { Notice, Session } from './session.ts';

/** Begins to connect: remembers the request and tells where to send the browser. */
export function startConnecting(
  registration: Registration,
  session: Session,
): { url: string; session: Session } {
  const { url, ...request } = newAuthorizationRequest(registration);
  // A cookie has room for the requests of a few tabs, not of any number.
  return { url, session: { ...session, pending: [...session.pending, request].slice(-4) } };
}

/** Reads the platform's answer at the redirect URI and exchanges the code for tokens. Resolves to what to remember. */
export async function finishConnecting(
  registration: Registration,
  session: Session,
  answer: URLSearchParams,
): Promise<Session> {
  const request = session.pending.find(({ state }) => equal(state, answer.get('state') ?? ''));
  if (!request)
    return { ...session, notice: problem('This portal did not ask for that answer. Connect from here.') };

  const remaining = { ...session, pending: session.pending.filter((other) => other !== request) };
  // RFC 9207 section 2.4: the answer of another server must not be taken for the platform's.
  if (answer.get('iss') !== registration.baseUrl)
    return { ...remaining, notice: problem('That answer came from another server.') };

  const code = answer.get('code');
  if (!code) return { ...remaining, notice: refusal(answer.get('error')) };
  try {
    const tokens = await exchangeCode(registration, code, request.codeVerifier);
    return { ...remaining, tokens, notice: { kind: 'success', text: 'Connected.' } };
  } catch (error) {
    return { ...remaining, notice: explain(error) };
  }
}

/** Exchanges the refresh token for new tokens. Resolves to what to remember. */
export async function refresh(registration: Registration, session: Session): Promise<Session> {
  if (!session.tokens) return session;
  try {
    const tokens = await refreshTokens(registration, session.tokens.refreshToken);
    return { ...session, tokens, notice: { kind: 'success', text: 'The portal has a new access token.' } };
  } catch (error) {
    const refused = error instanceof PlatformError && error.status >= 400 && error.status < 500;
    // A refused refresh token will not be accepted later either; trouble on the way passes.
    if (refused)
      return {
        pending: session.pending,
        notice: problem('The connection has ended. Connect again to go on.'),
      };
    return { ...session, notice: explain(error) };
  }
}

function refusal(error: string | null): Notice {
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
