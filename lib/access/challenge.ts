import type { ChallengedApi, Principal, TokenRefusal } from '../contracts/index.ts';
import { INSUFFICIENT_SCOPE } from '../http/problem.ts';
import type { Problem } from '../http/problem.ts';

/** A reason to answer 401 (RFC 6750 section 3). */
export interface AuthFailure {
  readonly code: string;
  /** The `error` of the challenge. Absent when no token was sent (RFC 6750 section 3.1). */
  readonly error?: 'invalid_request' | 'invalid_token';
  /** ASCII without quotes, because it is sent in a header field too. */
  readonly detail: string;
}

type AuthFailureReason =
  | 'missing'
  | 'misplaced'
  | 'repeated'
  | 'malformed'
  | 'invalid'
  | 'type'
  | 'expired'
  | 'revoked'
  | 'gone';

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
  type: {
    code: 'token_invalid',
    error: 'invalid_token',
    detail:
      'This is not an access token of this server. An ID token is for the app itself: send the access token.',
  },
  expired: {
    code: 'token_invalid',
    error: 'invalid_token',
    detail: 'The access token has expired. Get another one.',
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

/** The answer to the holder of an access token that is invalid. `undefined`: it is none that this server has signed. */
export function failureOf(why: TokenRefusal | undefined, resource: string, issuer: string): AuthFailure {
  switch (why?.reason) {
    case 'type':
    case 'expired':
      return AUTH_FAILURES[why.reason];
    case 'audience':
      return ofAnotherApi('access token', why.url, resource);
    case 'issuer':
      return {
        ...AUTH_FAILURES.invalid,
        detail: `The access token was issued by ${why.url}, and the issuer of this server is ${issuer} now. Get another one.`,
      };
    default:
      return AUTH_FAILURES.invalid;
  }
}

/** The answer to the holder of a token that is for another API. */
export function ofAnotherApi(kind: string, of: string, resource: string): AuthFailure {
  return { ...AUTH_FAILURES.invalid, detail: `The ${kind} is for the API ${of}, and this is ${resource}.` };
}

/** The problem for a failed authentication, with its challenge. */
export function unauthorized(api: ChallengedApi, { code, detail, error }: AuthFailure): Problem {
  const about = error ? { error, error_description: detail } : {};
  return {
    status: 401,
    code,
    detail,
    headers: { 'WWW-Authenticate': challenge(api, about, [...api.scopes.keys()]) },
  };
}

/** A `WWW-Authenticate` value (RFC 6750 section 3, RFC 9728 section 5.1). */
function challenge(
  {
    metadataUrl,
    resource,
  }: { readonly resource: string | undefined; readonly metadataUrl?: string | undefined },
  about: Readonly<Record<string, string>>,
  scopes: readonly string[],
): string {
  const announced = metadataUrl === undefined ? {} : { resource_metadata: metadataUrl };
  const scope = metadataUrl === undefined || scopes.length === 0 ? {} : { scope: scopes.join(' ') };
  const realm = resource === undefined ? {} : { realm: resource };
  const parameters = Object.entries({ ...realm, ...about, ...scope, ...announced });
  return `Bearer ${parameters.map(([name, value]) => `${name}="${quotable(value)}"`).join(', ')}`;
}

function quotable(value: string): string {
  return value.replaceAll(/["\\]/g, String.raw`\$&`);
}

/** What a token lacks whose scopes exclude a permission, and the challenge that says so. */
export interface InsufficientScope {
  readonly challenge: string;
  /** The scopes of a token that would suffice. Empty: one without scopes would. */
  readonly scopes: readonly string[];
}

/**
 * What a request lacks of the permissions that it needs (RFC 6750 section 3.1), with the scopes for all of them. `undefined`: no
 * token of the same user or client would suffice.
 *
 * @param realm - where the API has no metadata. @default none
 */
export function insufficientScope(
  principal: Principal,
  permissions: readonly string[],
  realm?: string,
): InsufficientScope | undefined {
  if (!permissions.every((permission) => principal.sources.has(permission))) return undefined;
  const { api } = principal;
  const needed = api ? permissions.map((permission) => scopeFor(permission, principal, api)) : [];
  const known = needed.filter((scope) => scope !== undefined);
  // A client without a list of scopes can request a token without scopes, which has all permissions.
  if (known.length < needed.length && principal.client?.scopes !== undefined) return undefined;
  const scopes = known.length < needed.length ? [] : [...new Set(known)];
  return {
    challenge: challenge(
      api?.metadataUrl === undefined ? { resource: realm } : api,
      { error: 'insufficient_scope', error_description: INSUFFICIENT_SCOPE },
      scopes,
    ),
    scopes,
  };
}

/** The scope of the token that allows a permission, else the narrowest one that the client may request. */
function scopeFor(
  permission: string,
  { client, scopes: granted }: Principal,
  { scopes }: ChallengedApi,
): string | undefined {
  const allowing = [...scopes]
    .filter(
      ([name, { permissions }]) =>
        permissions.includes(permission) && client?.scopes?.includes(name) !== false,
    )
    .toSorted(([, a], [, b]) => a.permissions.length - b.permissions.length)
    .map(([name]) => name);
  return allowing.find((name) => granted?.includes(name)) ?? allowing[0];
}
