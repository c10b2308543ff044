import type { JWK } from 'jose';

import { now } from '../contracts/clock.ts';
import type { AuditLog, KeyStore, Milliseconds, Seconds, StoredKey } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';
import type { SigningAlgorithm } from '../options/tokens.ts';
import { addKey, canSign, ensureKeys } from './keys.ts';
import type { ServerKey } from './keys.ts';
import type { KeyMaterial } from './material.ts';
import { describeKey } from './stored-keys.ts';
import type { SigningKey } from './stored-keys.ts';

const READ_INTERVAL: Milliseconds = 1000;

/** The keys of one use that this node has read. */
export interface KeyRing {
  /** Private JWKs; the first one signs. When they have changed, this is another list. */
  readonly signing: readonly JWK[];
  list(): readonly SigningKey[];
  /** Reads the storage again. */
  read(): Promise<void>;
  /** Reads the storage again, unless it was read within the last second. */
  reload(): Promise<void>;
  /**
   * Adds a key that signs after `delay` seconds; the previous key verifies until everything that it signed has expired. When another node
   * rotates at the same time, that node's key is used.
   */
  rotate(delay: Seconds): Promise<SigningKey>;
  /** Rotates when the newest key is older than `age` seconds. */
  rotateOlderThan(age: number, delay: Seconds): Promise<void>;
  /** Retires the keys that an interrupted rotation has not retired. */
  retireFormer(): Promise<void>;
  /** Sets the listener that is called when {@link KeyRing.signing} has changed. */
  onChange(listener: () => void): void;
}

interface KeyRingSettings {
  readonly use: StoredKey['use'];
  /** The algorithm, for keys that sign tokens. */
  readonly algorithm?: SigningAlgorithm;
  /** For how long signatures of a key are valid. */
  readonly lifetime: Seconds;
  /** @default rotations are not recorded */
  readonly audit?: Pick<AuditLog, 'record'>;
}

export async function createKeyRing(
  store: KeyStore,
  material: KeyMaterial,
  { use, algorithm, lifetime, audit }: KeyRingSettings,
): Promise<KeyRing> {
  let readAt = Date.now();
  let pendingRead: Promise<void> | undefined;
  let notifyChange: (() => void) | undefined;
  let keys = await ensureKeys(store, material, use, algorithm);

  function signingOrder(): readonly JWK[] {
    const active = keys.find((key) => canSign(key, algorithm));
    return keys
      .toSorted((one, other) => Number(other === active) - Number(one === active))
      .map(({ jwk }) => jwk);
  }

  async function readStorage(): Promise<void> {
    const begunAt = Date.now();
    try {
      keys = await ensureKeys(store, material, use, algorithm);
    } catch (cause) {
      if (cause instanceof StorageError) throw cause;
      // The keys are encrypted with a key-encryption key that this server was not given. Requests cannot do anything about that.
      throw new StorageError(`The stored keys cannot be read: ${(cause as Error).message}`, { cause });
    }
    readAt = begunAt;
    const before = ring.signing;
    const after = signingOrder();
    if (before.length === after.length && before.every(({ kid }, index) => kid === after[index]!.kid)) return;
    ring.signing = after;
    notifyChange?.();
  }

  /** Reads the storage, one read at a time, so that an older list does not replace a newer one. */
  async function read(): Promise<void> {
    pendingRead ??= readStorage().finally(() => {
      pendingRead = undefined;
    });
    return pendingRead;
  }

  /** Reads what this node itself has just written, which a read under way may not have seen. */
  async function readWritten(): Promise<void> {
    await pendingRead?.catch(() => {});
    await read();
  }

  function describe({ stored }: ServerKey): SigningKey {
    return describeKey(stored, ring.signing[0]!.kid);
  }

  /** Adds the generation that follows `before`, unless another node has added it. */
  async function replace(before: readonly StoredKey[], delay: Seconds): Promise<void> {
    const activeAt = now() + delay;
    const added = await addKey(store, material, { use, algorithm, after: before, activeAt });
    for (const { id, retiresAt } of added ? before : []) {
      if (retiresAt === undefined) await store.retire(id, activeAt + lifetime);
    }
    if (added) audit?.record({ type: 'key_rotated', keyId: added.id });
    await readWritten();
  }

  const ring: { -readonly [Member in keyof KeyRing]: KeyRing[Member] } = {
    signing: signingOrder(),
    list: () => keys.map(describe),
    read,
    /** Anyone can send tokens with invented key ids: no such request waits for the next second, and all share the read of this one. */
    async reload() {
      const age = Date.now() - readAt;
      // A negative age means that the clock was set back, so the real age is unknown.
      if (age >= 0 && age < READ_INTERVAL) return;
      await read();
    },
    async rotate(delay) {
      await replace(await store.list(use), delay);
      const newest = keys[0];
      if (!newest)
        throw new StorageError('The storage has no keys any more; restore them or restart the server');
      return describe(newest);
    },
    async rotateOlderThan(age, delay) {
      // The age is that of the keys that the new generation follows, so that nodes that find them old at the same time add only one key.
      const before = await store.list(use);
      if (before.every(({ createdAt }) => createdAt <= now() - age)) await replace(before, delay);
    },
    async retireFormer() {
      for (const [index, { stored }] of keys.entries()) {
        const successor = keys[index - 1]?.stored;
        if (!successor || stored.retiresAt !== undefined) continue;
        await store.retire(stored.id, Math.max(successor.activeAt, successor.createdAt) + lifetime);
      }
    },
    onChange(listener) {
      notifyChange = listener;
    },
  };
  return ring;
}
