import type { IncomingMessage } from 'node:http';

import type { Problem } from '../http/problem.ts';

/**
 * Reads the token of a request: from the `Authorization` header field, the one place that RFC 9700 section 4.3.2
 * leaves. Bodies are not looked at: an `access_token` in one is the API's own business.
 *
 * Runs for every request, so it does only what a remembered token needs; {@link isCompactJws} is for the others.
 */
export function readBearerToken(request: IncomingMessage): string | AuthFailure {
  const header = request.headers.authorization;
  const inUrl = IN_URL.test(request.url ?? '');
  if (header === undefined) return inUrl ? AUTH_FAILURES.misplaced : AUTH_FAILURES.missing;
  if (!header.startsWith('Bearer ') && !BEARER.test(header)) return AUTH_FAILURES.missing;
  if (inUrl) return AUTH_FAILURES.misplaced;
  if (isRepeated(request.rawHeaders)) return AUTH_FAILURES.repeated;
  return header.slice('Bearer '.length);
}

// The scheme is case-insensitive (RFC 9110 section 11.1). Without anything behind it, it is still a malformed Bearer.
const BEARER = /^bearer(?: |$)/i;

// Refused next to a good header too: it is in the logs of every server on the way.
const IN_URL = /[?&]access_token=/;

// Node keeps the first of several Authorization fields and drops the rest, a proxy in front may have looked at the last.
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}

/** The most characters of a token that are looked at; those of this server have about 700. */
const LONGEST_TOKEN = 8192;

// RFC 7515 section 7.1. The signature must be canonical (RFC 4648 section 3.5): of the bits in its last character, those
// that encode nothing are zero, or a token with that character changed would still be good. Linear on any input.
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Tells whether a token is worth a signature check: it has the form of one of ours, and a sane size. */
export function isCompactJws(token: string): boolean {
  return token.length <= LONGEST_TOKEN && COMPACT_JWS.test(token);
}

/** What the guard says to a caller whom it does not let in (RFC 6750 section 3). */

/** A reason to answer 401. */
export interface AuthFailure {
  readonly code: string;
  /** The `error` of the challenge; absent when no token was sent, so that a client sees that it only has to send one. */
  readonly error?: 'invalid_request' | 'invalid_token';
  /** Plain ASCII without quotes: it is sent in a header field too. */
  readonly detail: string;
}

type AuthFailureReason = 'missing' | 'misplaced' | 'repeated' | 'malformed' | 'invalid' | 'revoked' | 'gone';

/** Every reason there is. All are 401: a client that gets one has to come back with another token. */
export const AUTH_FAILURES: Readonly<Record<AuthFailureReason, AuthFailure>> = {
  missing: {
    code: 'token_missing',
    detail: 'An access token is required. Send it in the header field Authorization: Bearer.',
  },
  misplaced: {
    code: 'token_misplaced',
    error: 'invalid_request',
    detail:
      'Send the access token in the Authorization header field, never in the URL. Revoke this one: URLs are logged.',
  },
  repeated: {
    code: 'token_repeated',
    error: 'invalid_request',
    detail: 'Send one Authorization header field.',
  },
  malformed: {
    code: 'token_malformed',
    error: 'invalid_token',
    detail:
      'The Authorization header field must be Bearer, one space, and an access token of this server as it was issued.',
  },
  invalid: {
    code: 'token_invalid',
    error: 'invalid_token',
    detail: 'The access token has expired, or was not issued by this server for this API.',
  },
  revoked: {
    code: 'token_revoked',
    error: 'invalid_token',
    detail: 'The access token was revoked.',
  },
  gone: {
    code: 'token_holder_gone',
    error: 'invalid_token',
    detail: 'The user or the client of the access token was removed or disabled.',
  },
};

/** The 401 for a failure. */
export function unauthorized(realm: string, failure: AuthFailure): Problem {
  const { code, detail, error } = failure;
  return {
    status: 401,
    code,
    detail,
    headers: { 'WWW-Authenticate': error ? challenge(realm, error, detail) : challenge(realm) },
  };
}

/** A `WWW-Authenticate` value. The description must be free of quotes and backslashes. */
export function challenge(realm: string, error?: string, description?: string): string {
  const parameters = [`realm="${realm.replaceAll(/["\\]/g, String.raw`\$&`)}"`];
  if (error) parameters.push(`error="${error}"`, `error_description="${description}"`);
  return `Bearer ${parameters.join(', ')}`;
}
