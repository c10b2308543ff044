import type { Seconds } from './duration.ts';

/** A key of the server, shared by all nodes, that signs tokens or cookies. */
export interface StoredKey {
  /** The `kid` of a signing key. */
  readonly id: string;
  /** A key for `id_token` signs what clients learn about users, where that has another algorithm than access tokens. */
  readonly use: 'token' | 'id_token' | 'cookie';
  /** 1, 2, 3 ... per use. The unique number lets only one of two nodes add a key when both create one at the same time. */
  readonly generation: number;
  /** The JWK as JSON text, or that text encrypted with the key-encryption key. */
  readonly material: string;
  readonly createdAt: Seconds;
  /** The time from which on the key signs. */
  readonly activeAt: Seconds;
  /** The time until which its signatures are accepted; `undefined` while it is the newest key. */
  readonly retiresAt: Seconds | undefined;
}

/** Stores the server's own keys: the `keys` of a `Storage`. */
export interface KeyStore {
  /** Lists all keys of one use, oldest generation first. */
  list(use: StoredKey['use']): Promise<readonly StoredKey[]>;
  /** Inserts a key. Resolves to `false`, inserting nothing, when a key of that use has that generation already. */
  insert(key: StoredKey): Promise<boolean>;
  /**
   * Sets when a key retires, in seconds since 1970. A stored earlier time stays, so that a rotation under way does not keep a key that
   * was ended. It is then written again, so that this call too waits until the write is sure to last.
   */
  retire(id: string, retiresAt: Seconds): Promise<void>;
  /**
   * Replaces the material of a key, if it is still `from`, by the same key encrypted differently. Resolves to `false`, changing nothing,
   * when the material is not `from`, or when there is no such key any more.
   */
  replaceMaterial(id: string, from: string, to: string): Promise<boolean>;
}
