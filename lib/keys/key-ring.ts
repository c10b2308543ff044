import { setTimeout as waitFor } from 'node:timers/promises';

import type { JWK } from 'jose';

import { now } from '../contracts/clock.ts';
import type { AuditLog, KeyStore } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';
import type { SigningAlgorithm } from '../options/options.ts';
import type { KeyMaterial, ServerKey } from './keys.ts';
import { addKey, canSign, ensureKeys } from './keys.ts';

// In milliseconds.
const READ_INTERVAL = 1000;

/** A signing key, without the key itself. Times are in seconds since 1970. */
export interface SigningKey {
  /** The `kid` in the header of the tokens that it signs. */
  readonly id: string;
  /** `next`: published, so that verifiers have it before it signs. `active`: signs. `retired`: still verifies. */
  readonly status: 'next' | 'active' | 'retired';
  readonly createdAt: number;
  /** From when it signs. */
  readonly activeAt: number;
  /** When the last token that it signed expires; `undefined` for the newest key. */
  readonly retiresAt: number | undefined;
}

/** The signing keys that this node has read. */
export interface KeyRing {
  /** Private JWKs; the first one signs. */
  readonly signing: readonly JWK[];
  list(): readonly SigningKey[];
  /** Reads the storage again, at most once a second. */
  reload(): Promise<void>;
  /**
   * Adds a key that signs after `delay` seconds; the previous key verifies until its last token has expired. When another node
   * rotates at the same time, that node's key is used.
   */
  rotate(delay: number): Promise<SigningKey>;
  /** Rotates when the newest key is older than `age` seconds. */
  rotateOlderThan(age: number, delay: number): Promise<void>;
  /** Sets the listener that is called when {@link KeyRing.signing} has changed. */
  onChange(listener: () => void): void;
}

export async function createKeyRing(
  store: KeyStore,
  material: KeyMaterial,
  {
    algorithm,
    tokenLifetime,
    audit,
  }: { algorithm: SigningAlgorithm; tokenLifetime: number; audit: AuditLog },
): Promise<KeyRing> {
  let readAt = Date.now();
  let pendingRead: Promise<void> | undefined;
  let notifyChange: (() => void) | undefined;
  let keys = await ensureKeys(store, material, 'token', algorithm);
  let order = signingOrder();

  function signingOrder(): readonly JWK[] {
    const active = keys.find((key) => canSign(key, algorithm));
    return keys
      .toSorted((one, other) => Number(other === active) - Number(one === active))
      .map(({ jwk }) => jwk);
  }

  async function read(): Promise<void> {
    readAt = Date.now();
    keys = await ensureKeys(store, material, 'token', algorithm);
    const before = order;
    const after = signingOrder();
    if (before.length === after.length && before.every(({ kid }, index) => kid === after[index]!.kid)) return;
    order = after;
    notifyChange?.();
  }

  /** Anyone can send tokens with invented key ids, so all calls within a second share one read. */
  async function reload(): Promise<void> {
    pendingRead ??= waitFor(Math.max(readAt + READ_INTERVAL - Date.now(), 0), undefined, { ref: false })
      .then(read)
      .finally(() => {
        pendingRead = undefined;
      });
    return pendingRead;
  }

  function describe(key: ServerKey): SigningKey {
    const { activeAt, createdAt, id, retiresAt } = key.stored;
    const status = id === order[0]!.kid ? 'active' : activeAt > now() ? 'next' : 'retired';
    return { id, status, createdAt, activeAt, retiresAt };
  }

  async function rotate(delay: number): Promise<SigningKey> {
    const before = await store.list('token');
    const activeAt = now() + delay;
    const added = await addKey(store, material, { use: 'token', algorithm, after: before, activeAt });
    for (const { id, retiresAt } of added ? before : []) {
      if (retiresAt === undefined) await store.retire(id, activeAt + tokenLifetime);
    }
    if (added) audit.record({ type: 'key_rotated', keyId: added.id });
    await read();
    const newest = keys[0];
    if (!newest)
      throw new StorageError('The storage has no signing keys any more; restore them or restart the server');
    return describe(newest);
  }

  return {
    get signing() {
      return order;
    },
    list: () => keys.map(describe),
    reload,
    rotate,
    async rotateOlderThan(age, delay) {
      await read();
      if (keys.every(({ stored }) => stored.createdAt <= now() - age)) await rotate(delay);
    },
    onChange(listener) {
      notifyChange = listener;
    },
  };
}

/** The live signing keys as operators see them, newest first. The keys themselves are not read, so none has to be decrypted. */
export async function listSigningKeys(store: Pick<KeyStore, 'list'>): Promise<readonly SigningKey[]> {
  const stored = (await store.list('token')).toReversed();
  const live = stored.filter(({ retiresAt }) => retiresAt === undefined || retiresAt > now());
  const active = live.find(({ activeAt }) => activeAt <= now());
  return live.map(({ activeAt, createdAt, id, retiresAt }) => {
    const status = id === active?.id ? 'active' : activeAt > now() ? 'next' : 'retired';
    return { id, status, createdAt, activeAt, retiresAt };
  });
}
