import { createHash, hkdfSync } from 'node:crypto';

import { compactDecrypt, CompactEncrypt, decodeProtectedHeader } from 'jose';
import type { JWK } from 'jose';

import { ConfigError } from '../errors.ts';

/**
 * What protects a stored key: nothing (`none`), the key-encryption key that encrypts new keys (`newest`), another key-encryption key that
 * was given (`former`), or one that was not given (`unknown`).
 */
export type Protection = 'none' | 'newest' | 'former' | 'unknown';

/** Serializes keys for the storage and reads them again, encrypted when the host sets `secrets.keyEncryptionKey`. */
export interface KeyMaterial {
  /** Whether new keys are written encrypted. */
  readonly encrypts: boolean;
  protectionOf(this: void, material: string): Protection;
  write(jwk: JWK): Promise<string>;
  /** @throws ConfigError when the material was encrypted with a key that is not configured */
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

  function keyOf(material: string): EncryptionKey | undefined {
    try {
      const { kid } = decodeProtectedHeader(material);
      return keys.find((candidate) => candidate.kid === kid);
    } catch {
      // The material is damaged.
      return undefined;
    }
  }

  return {
    encrypts: newest !== undefined,
    protectionOf(material) {
      if (!isEncrypted(material)) return 'none';
      const key = keyOf(material);
      if (!key) return 'unknown';
      return key === newest ? 'newest' : 'former';
    },
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
          'secrets.keyEncryptionKey',
          "the server's keys are encrypted; give the secrets.keyEncryptionKey of the servers",
        );
      }
      const key = keyOf(material);
      if (!key) {
        throw new ConfigError(
          'secrets.keyEncryptionKey',
          "the server's keys were encrypted with another one; give that one too, after the new one, until `gatehouse signing-keys encrypt` has run with both",
        );
      }
      const { plaintext } = await compactDecrypt(material, key.bytes);
      return JSON.parse(Buffer.from(plaintext).toString()) as JWK;
    },
  };
}

/** Encrypted material is a compact JWE, other material is the JSON text of a JWK. */
function isEncrypted(material: string): boolean {
  return !material.startsWith('{');
}

function toEncryptionKey(secret: string): EncryptionKey {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, '', 'koa-gatehouse key encryption key', 32));
  // Identifies the key without revealing anything about it.
  return { bytes, kid: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) };
}
