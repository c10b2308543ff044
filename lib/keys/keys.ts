import { randomBytes } from 'node:crypto';

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { JWK } from 'jose';

import { now } from '../contracts/clock.ts';
import type { KeyStore, Seconds, StoredKey } from '../contracts/index.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';
import type { KeyMaterial } from './material.ts';

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
    activeAt: Seconds;
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
  return (await store.insert(key)) ? key : undefined;
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
