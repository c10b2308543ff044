import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { KeyObject } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_LENGTH = 12;
const TAG_LENGTH = 16;

/**
 * Encrypts bytes as base64url text, which contains the nonce and detects any change.
 *
 * @param key - a KeyObject: for a Buffer, Node first fails to read it as a key, with an internal exception that costs three times as much
 * as the encryption
 * @param bound.nonce - only the first 12 bytes count; they must never be the same twice with one key. @default random
 * @param bound.context - a text that {@link unseal} needs too. @default an empty text
 */
export function seal(
  plain: Buffer,
  key: KeyObject,
  { context = '', nonce = randomBytes(NONCE_LENGTH) }: { context?: string; nonce?: Buffer } = {},
): string {
  const used = nonce.subarray(0, NONCE_LENGTH);
  const cipher = createCipheriv(ALGORITHM, key, used).setAAD(Buffer.from(context));
  return Buffer.concat([used, cipher.update(plain), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

/** Decrypts the result of {@link seal}. @throws Error when the text, the key or the context is not the same */
export function unseal(sealed: string, key: KeyObject, context = ''): Buffer {
  const bytes = Buffer.from(sealed, 'base64url');
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_LENGTH), {
    authTagLength: TAG_LENGTH,
  });
  decipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(-TAG_LENGTH));
  return Buffer.concat([decipher.update(bytes.subarray(NONCE_LENGTH, -TAG_LENGTH)), decipher.final()]);
}
