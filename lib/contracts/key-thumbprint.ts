import crypto from 'node:crypto';

// The members in the order of RFC 7638 section 3.3, in which they are hashed.
const MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ['crv', 'kty', 'x', 'y'],
  OKP: ['crv', 'kty', 'x'],
  RSA: ['e', 'kty', 'n'],
};

/** The thumbprint of a public key (RFC 7638, SHA-256, base64url), by which people compare keys. */
export function keyThumbprint(key: Readonly<Record<string, unknown>>): string {
  const members = MEMBERS[String(key['kty'])] ?? [];
  const text = JSON.stringify(Object.fromEntries(members.map((name) => [name, key[name]])));
  return crypto.createHash('sha256').update(text).digest('base64url');
}
