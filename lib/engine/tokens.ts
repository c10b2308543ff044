import { createLocalJWKSet, jwtVerify } from 'jose';
import type { JWK } from 'jose';

import type { AccessTokenClaims, VerifyAccessToken } from '../contracts.ts';

/**
 * Makes the check of access tokens (RFC 9068 section 4): signature by a key of this server with the algorithm of that
 * key, type `at+jwt`, issuer, audience and time. Keys named by the token itself (`jwk`, `jku`, `x5u`) are not looked at.
 */
export function createVerifyAccessToken({
  issuer,
  audience,
  signing,
}: {
  issuer: string;
  audience: string;
  signing: readonly JWK[];
}): VerifyAccessToken {
  const keys = createLocalJWKSet({ keys: signing.map(publicPart) });
  const algorithms = [...new Set(signing.map((jwk) => jwk.alg!))];
  return async (token) => {
    try {
      const { payload } = await jwtVerify<AccessTokenClaims>(token, keys, {
        issuer,
        audience,
        algorithms,
        typ: 'at+jwt',
        requiredClaims: ['sub', 'client_id', 'iat', 'exp', 'jti', 'principal'],
      });
      return isAccessTokenClaims(payload) ? payload : undefined;
    } catch {
      return undefined;
    }
  };
}

function isAccessTokenClaims(payload: AccessTokenClaims): boolean {
  const { sub, client_id: clientId, jti, aud, scope, principal, grant_id: grantId } = payload;
  return (
    [sub, clientId, jti, aud].every((claim) => typeof claim === 'string' && claim !== '') &&
    (scope === undefined || typeof scope === 'string') &&
    (principal === 'user' ? typeof grantId === 'string' : principal === 'client' && grantId === undefined)
  );
}

function publicPart({ kty, kid, alg, use, crv, x, y, n, e }: JWK): JWK {
  return { kty, kid, alg, use, crv, x, y, n, e } as JWK;
}
