import { createHash, hkdfSync } from 'node:crypto';

import { compactDecrypt, CompactEncrypt, decodeProtectedHeader } from 'jose';
import type { JWK } from 'jose';

import { ConfigError } from '../errors.ts';

/** Writes keys for the storage and reads them back, encrypted when the host gives a key for that. */
export interface KeyMaterial {
  /** Whether new keys are written encrypted. */
  readonly encrypts: boolean;
  isEncrypted(material: string): boolean;
  write(jwk: JWK): Promise<string>;
  /** @throws ConfigError when the material was encrypted with a key that is not given */
  read(material: string): Promise<JWK>;
}

interface EncryptionKey {
  readonly kid: string;
  readonly bytes: Uint8Array;
}

/** @param secrets - newest first: the first encrypts, all decrypt */
export function createKeyMaterial(secrets: readonly string[]): KeyMaterial {
  const keys = secrets.map(toEncryptionKey);
  const [newest] = keys;
  return {
    encrypts: newest !== undefined,
    isEncrypted,
    async write(jwk) {
      const text = JSON.stringify(jwk);
      if (!newest) return text;
      return new CompactEncrypt(Buffer.from(text))
        .setProtectedHeader({ alg: 'dir', enc: 'A256GCM', kid: newest.kid })
        .encrypt(newest.bytes);
    },
    async read(material) {
      if (!isEncrypted(material)) return JSON.parse(material) as JWK;
      if (!newest) {
        throw new ConfigError(
          'keyEncryptionKey',
          "the server's keys are encrypted; give the keyEncryptionKey of the servers",
        );
      }
      const { kid } = decodeProtectedHeader(material);
      const key = keys.find((candidate) => candidate.kid === kid);
      if (!key) {
        throw new ConfigError(
          'keyEncryptionKey',
          "the server's keys were encrypted with another one; give that one too, after the new one",
        );
      }
      const { plaintext } = await compactDecrypt(material, key.bytes);
      return JSON.parse(Buffer.from(plaintext).toString()) as JWK;
    },
  };
}

/** Encrypted it is a JWE, otherwise the JSON text of a JWK. */
function isEncrypted(material: string): boolean {
  return !material.startsWith('{');
}

function toEncryptionKey(secret: string): EncryptionKey {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, '', 'koa-gatehouse key encryption key', 32));
  // Names the key without telling anything about it.
  return { bytes, kid: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) };
}
