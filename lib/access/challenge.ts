/** What the guard says to a caller whom it does not let in (RFC 6750 section 3). */
import type { Problem } from '../http/problem.ts';

/** A reason to answer 401. */
export interface Refusal {
  readonly code: string;
  /** The `error` of the challenge; absent when no token was sent, so that a client sees that it only has to send one. */
  readonly error?: 'invalid_request' | 'invalid_token';
  /** Plain ASCII without quotes: it is sent in a header field too. */
  readonly detail: string;
}

type RefusalReason = 'missing' | 'misplaced' | 'repeated' | 'malformed' | 'invalid' | 'revoked' | 'gone';

/** Every reason there is. All are 401: a client that gets one has to come back with another token. */
export const REFUSALS: Readonly<Record<RefusalReason, Refusal>> = {
  missing: {
    code: 'token_missing',
    detail: 'An access token is needed. Send it in the header field Authorization: Bearer.',
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
    detail: 'The access token has expired, or it is not one that this server issued for this API.',
  },
  revoked: {
    code: 'token_revoked',
    error: 'invalid_token',
    detail: 'The access token was revoked.',
  },
  gone: {
    code: 'token_holder_gone',
    error: 'invalid_token',
    detail: 'The user or the client that the access token speaks for is gone or disabled.',
  },
};

/** The 401 for a refusal. */
export function unauthorized(realm: string, refusal: Refusal): Problem {
  const { code, detail, error } = refusal;
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
