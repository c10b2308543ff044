import { randomBytes } from 'node:crypto';

import { calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose';
import type { JWK } from 'jose';

import type { KeyStore, StoredKey } from '../contracts.ts';
import type { SigningAlgorithm } from '../options.ts';
import { now } from './clock.ts';

/** The server's own secrets, the one in use first. */
export interface ServerKeys {
  /** Private JWKs of the keys that sign or have signed access tokens. Each has `kid`, `alg` and `use`. */
  readonly signing: readonly JWK[];
  /** The strings that sign cookies. */
  readonly cookies: readonly string[];
}

/**
 * Reads the server's keys, and makes those that are missing. Nodes that start at once on an empty storage agree on one
 * key: the storage accepts each generation once, and the loser reads the winner's.
 */
export async function loadKeys(
  store: KeyStore,
  { algorithm, cookieKeys }: { algorithm: SigningAlgorithm; cookieKeys: readonly string[] | undefined },
): Promise<ServerKeys> {
  const signing = await ensure(
    store,
    'token',
    (jwk) => jwk.alg === algorithm,
    () => generateSigningKey(algorithm),
  );
  const cookies =
    cookieKeys ?? (await ensure(store, 'cookie', () => true, generateCookieKey)).map((jwk) => jwk.k!);
  return { signing, cookies };
}

/** All live keys of a use, newest first, with one that fits in front; adds one when none fits. */
async function ensure(
  store: KeyStore,
  use: StoredKey['use'],
  fits: (jwk: JWK) => boolean,
  generate: () => Promise<JWK>,
): Promise<readonly JWK[]> {
  for (;;) {
    const kept = await store.list(use);
    const live = kept.filter((key) => key.retiresAt === undefined || key.retiresAt > now());
    const jwks = live.map((key) => JSON.parse(key.material) as JWK).toReversed();
    const current = jwks.find(fits);
    if (current) return [current, ...jwks.filter((jwk) => jwk !== current)];
    const jwk = await generate();
    await store.add({
      id: jwk.kid!,
      use,
      generation: (kept.at(-1)?.generation ?? 0) + 1,
      material: JSON.stringify(jwk),
      createdAt: now(),
      activeAt: now(),
      retiresAt: undefined,
    });
  }
}

async function generateSigningKey(algorithm: SigningAlgorithm): Promise<JWK> {
  const { privateKey } = await generateKeyPair(algorithm, { extractable: true });
  const jwk = await exportJWK(privateKey);
  // Verifiers look keys up by `kid`, so it must be in the published key as well as in the token's header.
  return { ...jwk, kid: await calculateJwkThumbprint(jwk), alg: algorithm, use: 'sig' };
}

function generateCookieKey(): Promise<JWK> {
  const kid = randomBytes(16).toString('base64url');
  return Promise.resolve({ kty: 'oct', kid, k: randomBytes(32).toString('base64url') });
}
