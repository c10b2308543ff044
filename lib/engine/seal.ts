import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto';

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

// HKDF-Expand of one block (RFC 5869 section 2.3). The presented token has 256 bits of randomness, so nothing has to be
// extracted from it first (section 3.3).
function keyFrom(presented: string): Buffer {
  return createHmac('sha256', presented).update(INFO).digest();
}

const INFO = 'koa-gatehouse refresh token successor\u0001';
