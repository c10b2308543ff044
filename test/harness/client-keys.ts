import { randomUUID } from 'node:crypto';

import { SignJWT, exportJWK, generateKeyPair } from 'jose';
import type { CryptoKey, JWK, JWTPayload } from 'jose';

/** A pair of keys of a client. */
export interface ClientKeyPair {
  readonly algorithm: string;
  readonly privateKey: CryptoKey;
  /** With the `kid`. */
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
}

/** @param kid - `null`: the key has no id */
export async function makeKeyPair(kid: string | null = 'key-1', algorithm = 'ES256'): Promise<ClientKeyPair> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  const named = kid === null ? {} : { kid };
  return {
    algorithm,
    privateKey,
    publicJwk: { ...(await exportJWK(publicKey)), ...named },
    privateJwk: { ...(await exportJWK(privateKey)), ...named },
  };
}

export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Claims of an assertion; `undefined` leaves one out. */
export type Claims = { readonly [name in keyof JWTPayload]?: JWTPayload[name] | undefined };

/** The parameters of a request by which a client authenticates with its key (RFC 7523 section 2.2). */
export async function assertionParameters(
  clientId: string,
  audience: string,
  { algorithm, privateKey, publicJwk: { kid } }: ClientKeyPair,
  claims: Claims = {},
): Promise<{ client_assertion_type: string; client_assertion: string }> {
  const at = Math.floor(Date.now() / 1000);
  const complete = {
    iss: clientId,
    sub: clientId,
    aud: audience,
    jti: randomUUID(),
    iat: at,
    exp: at + 60,
    ...claims,
  };
  const given = Object.fromEntries(Object.entries(complete).filter(([, value]) => value !== undefined));
  const jwt = new SignJWT(given).setProtectedHeader({
    alg: algorithm,
    ...(kid === undefined ? {} : { kid }),
  });
  return { client_assertion_type: ASSERTION_TYPE, client_assertion: await jwt.sign(privateKey) };
}
