import { now } from '../contracts/clock.ts';
import type { KeyStore, Seconds, StoredKey } from '../contracts/index.ts';
import { signingAlgorithm } from '../options/tokens.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';
import { addKey } from './keys.ts';
import type { KeyMaterial } from './material.ts';

/** A signing key, without the key itself. */
export interface SigningKey {
  /** The `kid` in the header of the tokens that it signs. */
  readonly id: string;
  /** What the key signs: access tokens (`token`), ID tokens (`id_token`) where these have keys of their own, or cookies. */
  readonly use: StoredKey['use'];
  /** A `next` key is published, so that verifiers have it before it signs. The `active` key signs. A `retired` key still verifies. */
  readonly status: 'next' | 'active' | 'retired';
  readonly createdAt: Seconds;
  /** The time from which the key signs. */
  readonly activeAt: Seconds;
  /** When the last token that it signed expires; `undefined` for the newest key. */
  readonly retiresAt: Seconds | undefined;
}

const USES: readonly StoredKey['use'][] = ['token', 'id_token', 'cookie'];

/** A key as operators see it. @param activeId - the id of the key that signs */
export function describeKey(
  { activeAt, createdAt, id, retiresAt, use }: StoredKey,
  activeId: string | undefined,
): SigningKey {
  const status = id === activeId ? 'active' : activeAt > now() ? 'next' : 'retired';
  return { id, use, status, createdAt, activeAt, retiresAt };
}

/** The keys of one use that have not retired, newest first. This decrypts no key. */
export function describeKeys(
  stored: readonly StoredKey[],
): readonly (SigningKey & Pick<StoredKey, 'material'>)[] {
  const live = stored.filter(isLive).toReversed();
  const active = live.find(({ activeAt }) => activeAt <= now());
  return live.map((key) => Object.assign(describeKey(key, active?.id), { material: key.material }));
}

/**
 * The live keys that sign tokens, as operators see them: first the keys of access tokens, then the keys of ID tokens, each with the
 * newest first.
 */
export async function listSigningKeys(store: Pick<KeyStore, 'list'>): Promise<readonly SigningKey[]> {
  const [ofTokens, ofIdTokens] = await Promise.all([store.list('token'), store.list('id_token')]);
  const keys = [...describeKeys(ofTokens), ...describeKeys(ofIdTokens)];
  return keys.map(({ material: _material, ...key }) => key);
}

function isLive({ retiresAt }: StoredKey): boolean {
  return retiresAt === undefined || retiresAt > now();
}

/**
 * Encrypts all keys anew, each by one conditional write, so that it can run beside servers, several times at once and repeatedly, and be
 * interrupted at any point. A key that is already encrypted with the newest key-encryption key is written again, so that a repeated call
 * returns only when all keys are stored in this way, even where the database did not confirm the writes of the first call.
 *
 * @returns the number of keys
 * @throws ConfigError when a key was encrypted with a key-encryption key that was not given
 */
export async function encryptKeys(store: KeyStore, material: KeyMaterial): Promise<number> {
  const stored = (await Promise.all(USES.map(async (use) => store.list(use)))).flat().filter(isLive);
  const encrypted = [];
  for (const key of stored) encrypted.push(await encryptKey(store, material, key));
  return encrypted.filter(Boolean).length;
}

/** Resolves to `false` when the key has been deleted meanwhile. */
async function encryptKey(store: KeyStore, material: KeyMaterial, { id, use }: StoredKey): Promise<boolean> {
  for (;;) {
    const current = (await store.list(use)).find((key) => key.id === id);
    if (!current) return false;
    const anew = await material.write(await material.read(current.material));
    if (await store.replaceMaterial(id, current.material, anew)) return true;
  }
}

/**
 * Ends all keys at once: adds a new one of each use, which signs at once, and retires all others, whatever the clocks of the nodes say.
 * Repeat a call that was interrupted.
 *
 * @returns the new signing key, and the keys that were ended
 */
export async function revokeKeys(
  store: KeyStore,
  material: KeyMaterial,
  algorithm: SigningAlgorithm,
): Promise<{ readonly added: StoredKey; readonly revoked: readonly StoredKey[] }> {
  const { added, former } = await replaceAll(store, material, { use: 'token', algorithm });
  const others = [];
  // Not every server has keys of its own for ID tokens and for cookies.
  for (const use of ['id_token', 'cookie'] as const) {
    const newest = (await store.list(use)).at(-1);
    if (newest) others.push(await replaceAll(store, material, await kindOf(newest, material)));
  }
  return { added, revoked: [...former, ...others.flatMap((replaced) => replaced.former)].filter(isLive) };
}

/** The use of a key, and the algorithm of one that signs tokens. */
export async function kindOf(
  { material: stored, use }: StoredKey,
  material: KeyMaterial,
): Promise<{ readonly use: StoredKey['use']; readonly algorithm: SigningAlgorithm | undefined }> {
  if (use === 'cookie') return { use, algorithm: undefined };
  const { alg } = await material.read(stored);
  return { use, algorithm: signingAlgorithm('tokens.algorithm', alg as SigningAlgorithm) };
}

async function replaceAll(
  store: KeyStore,
  material: KeyMaterial,
  kind: { readonly use: StoredKey['use']; readonly algorithm?: SigningAlgorithm | undefined },
): Promise<{ readonly added: StoredKey; readonly former: readonly StoredKey[] }> {
  for (;;) {
    const former = await store.list(kind.use);
    const added = await addKey(store, material, { ...kind, after: former, activeAt: 0 });
    // Another node has added a key in the meantime, and this key has to end too.
    if (!added) continue;
    for (const { id } of former) await store.retire(id, 0);
    return { added, former };
  }
}
