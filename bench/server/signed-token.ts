import { generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const { privateKey, publicKey: ownPublicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });

export const publicKey: KeyObject = ownPublicKey;

const HEADER = encode({ alg: 'ES256', typ: 'at+jwt', kid: 'bench' });

/** An access token with the claims of RFC 9068, signed on this thread. */
export function signedToken(issuer: string, clientId: string): string {
  const iat = Math.floor(Date.now() / 1000);
  const claims = encode({
    iss: issuer,
    aud: issuer,
    sub: clientId,
    client_id: clientId,
    scope: 'schools:read',
    iat,
    exp: iat + 31_536_000,
    jti: randomUUID(),
  });
  const signature = sign('sha256', Buffer.from(`${HEADER}.${claims}`), {
    key: privateKey,
    dsaEncoding: 'ieee-p1363',
  });
  return `${HEADER}.${claims}.${signature.toString('base64url')}`;
}

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}
