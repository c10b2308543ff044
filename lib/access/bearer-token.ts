import type { IncomingMessage } from 'node:http';

/**
 * Reads the token of a request from the `Authorization` header field only, because RFC 9700 section 4.3.2 rules out the query.
 * Bodies are not read: a member `access_token` in a body belongs to the host's API.
 *
 * Runs for every request, so it checks only what a cached token needs; {@link isCompactJws} checks the form of other tokens.
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

// The scheme is case-insensitive (RFC 9110 section 11.1). Without a token behind it, the field is a malformed Bearer field.
const BEARER = /^bearer(?: |$)/i;

// Refused also when the header field is valid: every server on the path logs the URL.
const IN_URL = /[?&]access_token=/;

// Node uses the first of several Authorization fields; a proxy in front may have used the last.
function isRepeated(rawHeaders: readonly string[]): boolean {
  let count = 0;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]!;
    if (name.length === 13 && name.toLowerCase() === 'authorization') count += 1;
  }
  return count > 1;
}

/** In characters. Tokens of this server have about 700. */
const MAX_TOKEN_LENGTH = 8192;

// RFC 7515 section 7.1. The signature must be canonical (RFC 4648 section 3.5): the unused bits of its last character are zero.
// Otherwise the token would stay valid with another last character. The expression takes linear time on any input.
const COMPACT_JWS = /^[\w-]+\.[\w-]+\.(?:[\w-]{4})*(?:[\w-][AQgw]|[\w-]{2}[AEIMQUYcgkosw048])?$/;

/** Whether a token has the form and size of this server's tokens, so that its signature is checked. */
export function isCompactJws(token: string): boolean {
  return token.length <= MAX_TOKEN_LENGTH && COMPACT_JWS.test(token);
}

/** A reason to answer 401 (RFC 6750 section 3). */
export interface AuthFailure {
  readonly code: string;
  /** The `error` of the challenge. Absent when no token was sent (RFC 6750 section 3.1). */
  readonly error?: 'invalid_request' | 'invalid_token';
  /** ASCII without quotes, because it is sent in a header field too. */
  readonly detail: string;
}

type AuthFailureReason = 'missing' | 'misplaced' | 'repeated' | 'malformed' | 'invalid' | 'revoked' | 'gone';

/** All reasons. Each is answered with 401, because the client needs another token. */
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
