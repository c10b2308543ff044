import { featuresOf } from '../features/known.ts';
import type { AuditLog, Seconds } from '../contracts/index.ts';
import { createKeyRing } from '../keys/key-ring.ts';
import { createKeyMaterial } from '../keys/material.ts';
import { derivedFromEach } from '../keys/secrets.ts';
import type { SigningKey } from '../keys/stored-keys.ts';
import type { ResolvedOptions } from '../options/resolved-options.ts';

/**
 * In seconds. A cookie key is replaced with a signing key, but not more often than this: each that is still accepted is tried for
 * every cookie with a wrong signature.
 */
export const COOKIE_KEY_AGE: Seconds = 30 * 86_400;

/** Reads the server's own keys from the storage, and makes the first ones. */
export async function createServerKeys(
  options: ResolvedOptions,
  { audit }: { readonly audit: Pick<AuditLog, 'record'> },
) {
  const { algorithm, keyRotation, lifetimes, revocationLag } = options.tokens;
  const { cookieKeys, keyEncryptionKey } = options.secrets;
  const store = options.storage.keys;
  const material = createKeyMaterial(keyEncryptionKey);
  const key = options.aboutUser?.key;
  // What was said of a user is a hint at whom an app means for as long as the login session, also after it has expired.
  const lifetime = key ? Math.max(key.lifetime, lifetimes.sessionAbsolute) : 0;
  const isShared = key?.algorithm === algorithm;
  const tokens = await createKeyRing(store, material, {
    use: 'token',
    algorithm,
    lifetime: isShared ? Math.max(lifetimes.accessToken, lifetime) : lifetimes.accessToken,
    audit,
  });
  const ownAboutUser =
    key && !isShared
      ? await createKeyRing(store, material, {
          use: 'id_token',
          algorithm: key.algorithm,
          lifetime,
          audit,
        })
      : undefined;
  const cookies = cookieKeys
    ? undefined
    : await createKeyRing(store, material, { use: 'cookie', lifetime: cookieLifetime(options) });
  const rings = [tokens, ownAboutUser, cookies].filter((ring) => ring !== undefined);

  // A new key signs after this delay. By then every node has read it, also one whose clock is some seconds ahead, and verifiers
  // elsewhere can fetch it when they first see it: jose fetches a JWK Set at most every 30 seconds.
  const readByAll = Math.max(60, 2 * revocationLag + 5);

  return {
    /** Reads and encrypts stored keys. */
    material,
    tokens,
    /** Those that sign what clients learn of users: the same where both have the same algorithm. `undefined`: nothing. */
    aboutUser: isShared ? tokens : ownAboutUser,
    secrets: cookies
      ? derivedFromEach(
          () => cookies.signing,
          ({ k }) => k!,
        )
      : () => cookieKeys!,
    /** The keys that sign tokens, those of access tokens first, as this node knows them. */
    list: (): readonly SigningKey[] => [tokens, ownAboutUser].flatMap((ring) => ring?.list() ?? []),
    async read(): Promise<void> {
      await Promise.all(rings.map(async (ring) => ring.read()));
    },
    /** Replaces keys that are older than the option `tokens.keyRotation`, and completes rotations that were interrupted. */
    async maintain(): Promise<void> {
      await Promise.all(rings.map(async (ring) => ring.retireFormer()));
      if (keyRotation === 0) return;
      await tokens.rotateOlderThan(keyRotation, readByAll);
      await ownAboutUser?.rotateOlderThan(keyRotation, readByAll);
      await cookies?.rotateOlderThan(Math.max(keyRotation, COOKIE_KEY_AGE), readByAll);
    },
    /** @param delay - by default the time after which every node has read the key */
    async rotate(delay: Seconds = readByAll): Promise<SigningKey> {
      // Never at once: for a cookie with an unknown signature no node reads the keys again, and the user would be logged out.
      await cookies?.rotateOlderThan(COOKIE_KEY_AGE, Math.max(delay, readByAll));
      await ownAboutUser?.rotate(delay);
      return tokens.rotate(delay);
    },
  };
}

export type ServerKeys = Awaited<ReturnType<typeof createServerKeys>>;

/** How long a cookie, a page or a code that a cookie key was used for can be valid. */
function cookieLifetime({
  features,
  limits,
  tokens: { lifetimes },
}: Pick<ResolvedOptions, 'features' | 'limits' | 'tokens'>): Seconds {
  return Math.max(
    lifetimes.sessionAbsolute,
    lifetimes.interaction,
    limits.attempts?.login?.deviceLifetime ?? 0,
    ...featuresOf({ features }).map(({ keysFor = 0 }) => keysFor),
  );
}
