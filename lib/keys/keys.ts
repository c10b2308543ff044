import { createHash, hkdfSync, randomBytes } from 'node:crypto';

import {
  calculateJwkThumbprint,
  compactDecrypt,
  CompactEncrypt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
} from 'jose';
import type { JWK } from 'jose';

import { now } from '../contracts/clock.ts';
import type { KeyStore, StoredKey } from '../contracts/index.ts';
import { ConfigError } from '../errors.ts';
import type { SigningAlgorithm } from '../options/options.ts';

/** Serializes keys for the storage and reads them again, encrypted when the host sets `keyEncryptionKey`. */
export interface KeyMaterial {
  /** Whether new keys are written encrypted. */
  readonly encrypts: boolean;
  isEncrypted(material: string): boolean;
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

/** Encrypted material is a compact JWE, other material is the JSON text of a JWK. */
function isEncrypted(material: string): boolean {
  return !material.startsWith('{');
}

function toEncryptionKey(secret: string): EncryptionKey {
  const bytes = new Uint8Array(hkdfSync('sha256', secret, '', 'koa-gatehouse key encryption key', 32));
  // Identifies the key without revealing anything about it.
  return { bytes, kid: createHash('sha256').update(bytes).digest('base64url').slice(0, 16) };
}

/** A stored key with its decrypted JWK. */
export interface ServerKey {
  readonly stored: StoredKey;
  readonly jwk: JWK;
}

/**
 * Reads the keys of one use that are not retired, newest first, and adds a key when none can sign.
 *
 * Nodes that start concurrently on an empty storage use the same key: the storage accepts each generation once, and a node
 * whose key was not accepted reads the other node's.
 */
export async function ensureKeys(
  store: KeyStore,
  material: KeyMaterial,
  use: StoredKey['use'],
  algorithm?: SigningAlgorithm,
): Promise<readonly ServerKey[]> {
  for (;;) {
    const all = await store.list(use);
    const live = all.filter(({ retiresAt }) => retiresAt === undefined || retiresAt > now()).toReversed();
    const keys = await Promise.all(
      live.map(async (stored) => ({ stored, jwk: await material.read(stored.material) })),
    );
    if (keys.some((key) => canSign(key, algorithm))) return keys;
    // Not `now()`: a node whose clock is behind could not use the key yet, and would add another one.
    await addKey(store, material, { use, algorithm, after: all, activeAt: 0 });
  }
}

/** Adds the next generation. Resolves to `undefined` when another node has added it. */
export async function addKey(
  store: KeyStore,
  material: KeyMaterial,
  {
    use,
    algorithm,
    after,
    activeAt,
  }: {
    use: StoredKey['use'];
    algorithm?: SigningAlgorithm | undefined;
    after: readonly StoredKey[];
    activeAt: number;
  },
): Promise<StoredKey | undefined> {
  const jwk = algorithm ? await generateSigningKey(algorithm) : generateCookieKey();
  const key: StoredKey = {
    id: jwk.kid!,
    use,
    generation: Math.max(0, ...after.map(({ generation }) => generation)) + 1,
    material: await material.write(jwk),
    createdAt: now(),
    activeAt,
    retiresAt: undefined,
  };
  return (await store.add(key)) ? key : undefined;
}

/** Whether a key may be used for new signatures now. */
export function canSign({ jwk, stored }: ServerKey, algorithm?: SigningAlgorithm): boolean {
  return stored.activeAt <= now() && (algorithm === undefined || jwk.alg === algorithm);
}

async function generateSigningKey(algorithm: SigningAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  // Verifiers look keys up by `kid`, so it must be in the published key as well as in the token's header.
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: 'sig' };
}

function generateCookieKey(): JWK {
  const kid = randomBytes(16).toString('base64url');
  return { kty: 'oct', kid, k: randomBytes(32).toString('base64url') };
}
