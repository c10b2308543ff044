// `hash` through the default export, as in lib/keys/hash.ts.
import crypto from 'node:crypto';

import { now } from '../../contracts/clock.ts';
import type { Client } from '../../contracts/index.ts';
import { ID_TOKEN_TYPE } from '../../engine/provider.ts';
import { hashCredential } from '../../keys/hash.ts';
import { authenticationMethods } from '../../login/login-session.ts';
import { sidOf } from './sid.ts';
import type { TokenKeys } from '../../token/token-key.ts';
import type { AddToResponse, ExchangeContent } from '../../token/exchange.ts';
import type { FindClaims } from './claims.ts';
import { OPENID } from './options.ts';
import type { OpenIdSettings } from './options.ts';

/** Makes the function that issues the ID tokens of a server (OpenID Connect Core 1.0 section 2). */
export function createIssueIdToken(
  { claimsInIdToken, idTokenLifetime, issuer }: OpenIdSettings & { readonly issuer: string },
  { findClaims, idTokenKeys }: { readonly findClaims: FindClaims; readonly idTokenKeys: TokenKeys },
): AddToResponse {
  async function issue(
    { accessToken, client, credential: { payload }, user }: ExchangeContent,
    scopes: readonly string[],
  ) {
    const named = requestedClaims(payload['claims']);
    const isWanted = (name: string): boolean => claimsInIdToken || Object.hasOwn(named, name);
    const key = idTokenKeys()[0]!;
    const iat = now();
    const claims = {
      ...(await findClaims(user, { client, scopes }, isWanted)),
      ...authenticationOf(payload, client),
      at_hash: halfHash(accessToken, key.alg),
      sub: user.id,
      iat,
      exp: iat + idTokenLifetime,
      iss: issuer,
      aud: client.id,
    };
    return { id_token: await key.signJwt(claims, ID_TOKEN_TYPE) };
  }

  // Most responses have no ID token, and then wait for nothing.
  // oxlint-disable-next-line typescript/promise-function-async
  return (content) => (content.scopes?.includes(OPENID) ? issue(content, content.scopes) : undefined);
}

/** The members of the parameter `claims` for the ID token (section 5.5), which the authorization endpoint has parsed. */
function requestedClaims(claims: unknown): object {
  const { id_token: named } = Object(claims) as { readonly id_token?: unknown };
  return Object(named) as object;
}

/**
 * The claims about the login, as they are stored with the code or the device code. A device does not take part in the login session of
 * the browser in which its user has authorized it, so its ID token has no `sid`.
 */
function authenticationOf(payload: Readonly<Record<string, unknown>>, client: Client): object {
  const { acr, authTime, nonce } = payload;
  const sessionUid = payload['sessionUid'] as string | undefined;
  const amr = authenticationMethods(payload['amr'] as readonly string[] | undefined);
  return {
    ...(authTime !== undefined && { auth_time: authTime }),
    ...(nonce !== undefined && { nonce }),
    ...(acr !== undefined && { acr }),
    ...(amr.length > 0 && { amr }),
    ...(sessionUid !== undefined && { sid: sidOf(hashCredential(sessionUid), client.id) }),
  };
}

/** The claim `at_hash` (section 3.1.3.6): the left half of the hash that belongs to the algorithm of the ID token. */
function halfHash(token: string, algorithm: string): string {
  const digest = crypto.hash(algorithm === 'EdDSA' ? 'sha512' : 'sha256', token, 'buffer');
  return digest.subarray(0, digest.length / 2).toString('base64url');
}
