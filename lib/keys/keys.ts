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

/** A key of the storage, readable. */
export interface ServerKey {
  readonly stored: StoredKey;
  readonly jwk: JWK;
}

/**
 * Reads the live keys of one use, newest first, and makes one when none can be used.
 *
 * Nodes that start at once on an empty storage agree on one key: the storage accepts each generation once, and the
 * loser reads the winner's.
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
    // Not `now()`: to a node whose clock is behind, the key would not be usable yet, and it would make another one.
    await addKey(store, material, { use, algorithm, after: all, activeAt: 0 });
  }
}

/** Adds the next generation. Resolves to `undefined` when another node was first. */
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
