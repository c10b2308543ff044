// `hash` not by its name, as in hash.ts.
import crypto, { createCipheriv, createDecipheriv, createSecretKey, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Seals a refresh token so that only who presents the one before it can open it. What rests in the storage is useless
 * by itself: the key comes from the presented token, of which the storage holds only a hash.
 */
export function sealSuccessor(successor: string, presented: string): string {
  const nonce = randomBytes(NONCE_LENGTH);
  const cipher = createCipheriv(ALGORITHM, keyFrom(presented), nonce);
  return Buffer.concat([
    nonce,
    cipher.update(successor, 'utf8'),
    cipher.final(),
    cipher.getAuthTag(),
  ]).toString('base64url');
}

/** Opens what {@link sealSuccessor} sealed. Throws when the presented token is not the one it was sealed for. */
export function openSuccessor(sealed: string, presented: string): string {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(ALGORITHM, keyFrom(presented), bytes.subarray(0, NONCE_LENGTH), {
    authTagLength: TAG_LENGTH,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_LENGTH));
  return Buffer.concat([
    decipher.update(bytes.subarray(NONCE_LENGTH, -TAG_LENGTH)),
    decipher.final(),
  ]).toString('utf8');
}

// The one-step key derivation of NIST SP 800-56C revision 2 (section 4.1, option 1): the presented token has 256 bits of
// randomness, so nothing has to be extracted from it first, and one block is all that is needed.
function keyFrom(presented: string): KeyObject {
  // Of a buffer, Node finds out by an exception inside that it is no key, which costs three times what sealing does.
  return createSecretKey(crypto.hash('sha256', `\0\0\0\u0001${presented}${INFO}`, 'buffer'));
}

const INFO = 'koa-gatehouse refresh token successor';
