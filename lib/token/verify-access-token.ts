import { createLocalJWKSet, errors, jwtVerify } from 'jose';
import type { JWK } from 'jose';

import type { LastUses } from '../clients/last-use.ts';
import type { AccessTokenClaims, RevocationStore, VerifyAccessToken } from '../contracts/index.ts';
import { ENDPOINTS } from '../engine/endpoints.ts';
import type { KeyRing } from '../keys/key-ring.ts';

/**
 * Creates the verification of access tokens (RFC 9068 section 4): signature by a key of this server with the algorithm of that
 * key, type `at+jwt`, issuer, audience and time. Keys that the token itself names (`jwk`, `jku`, `x5u`) are ignored.
 */
export function createVerifyAccessToken({
  issuer,
  audience,
  keys: ring,
}: {
  issuer: string;
  /** The API, or the APIs, that the token may be for. */
  audience: string | string[];
  /** Read again for a token of a key that another node has added. */
  keys: Pick<KeyRing, 'signing' | 'reload'>;
}): VerifyAccessToken {
  let lastKeys: readonly JWK[] = [];
  let checkSignature: (token: string) => Promise<AccessTokenClaims>;

  function createCheck(keys: readonly JWK[]): typeof checkSignature {
    const published = createLocalJWKSet({ keys: keys.map(publicPart) });
    const algorithms = [...new Set(keys.map((jwk) => jwk.alg!))];
    const requiredClaims = ['sub', 'client_id', 'iat', 'exp', 'jti', 'principal'];
    return async (token) => {
      const { payload } = await jwtVerify<AccessTokenClaims>(token, published, {
        issuer,
        audience,
        algorithms,
        typ: 'at+jwt',
        requiredClaims,
      });
      return payload;
    };
  }

  async function check(token: string, keys: readonly JWK[]): Promise<AccessTokenClaims> {
    if (keys !== lastKeys) {
      lastKeys = keys;
      checkSignature = createCheck(keys);
    }
    return checkSignature(token);
  }

  return async (token) => {
    const keys = ring.signing;
    let claims: AccessTokenClaims;
    try {
      claims = await check(token, keys);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) return undefined;
      await ring.reload();
      if (ring.signing === keys) return undefined;
      try {
        claims = await check(token, ring.signing);
      } catch {
        return undefined;
      }
    }
    return isAccessTokenClaims(claims) ? claims : undefined;
  };
}

function isAccessTokenClaims(claims: AccessTokenClaims): boolean {
  const { iss, sub, client_id: clientId, jti, aud, scope, principal, grant_id: grantId } = claims;
  const { revocation_sequence: sequence = 0 } = claims;
  return (
    // Two: the API, and then the userinfo endpoint.
    (!Array.isArray(aud) || (aud.length === 2 && aud[1] === iss + ENDPOINTS.userinfo)) &&
    [sub, clientId, jti, ...[aud].flat()].every((claim) => typeof claim === 'string' && claim !== '') &&
    (scope === undefined || typeof scope === 'string') &&
    Number.isSafeInteger(sequence) &&
    (principal === 'user' ? typeof grantId === 'string' : principal === 'client' && grantId === undefined)
  );
}

function publicPart({ kty, kid, alg, use, crv, x, y, n, e }: JWK): JWK {
  return { kty, kid, alg, use, crv, x, y, n, e } as JWK;
}

/** Whether neither a verified access token, nor its grant, its user or its client was revoked. One read. */
export type IsTokenActive = (claims: AccessTokenClaims) => Promise<boolean>;

/** @param appUsed - called when the token of a user is active. Left out: the check is no use of the token */
export function createIsTokenActive(
  revocations: Pick<RevocationStore, 'isValid'>,
  appUsed?: LastUses['appUsed'],
): IsTokenActive {
  return async function isTokenActive({
    client_id: clientId,
    grant_id: grantId,
    iat,
    jti: id,
    principal,
    revocation_sequence: sequence = 0,
    sub,
  }) {
    const grant = principal === 'user' ? { id: grantId ?? '', userId: sub } : undefined;
    const isActive = await revocations.isValid({ id, clientId, grant, sequence });
    if (isActive && grant) appUsed?.({ ...grant, clientId }, iat);
    return isActive;
  };
}
