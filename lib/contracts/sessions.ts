/** A login of somebody in a browser. */
export interface StoredSession {
  /** SHA-256 of the id that the browser holds, base64url. */
  readonly id: string;
  /** SHA-256 of the session's `uid`, a second name that is not a credential. */
  readonly uid: string;
  readonly userId: string;
  /** What the engine keeps with it. JSON; holds no credential. */
  readonly payload: Readonly<Record<string, unknown>>;
  /** In seconds since 1970. */
  readonly expiresAt: number;
  /** `RevocationStore.sequence` before the password was checked. */
  readonly sequence: number;
}

/**
 * Keeps the login sessions of browsers: the `sessions` of a {@link Storage}. A session is inserted by a login and by nothing
 * else, so that one that was removed stays removed, whatever request is under way.
 */
export interface SessionStore {
  /** Inserts a session, with an id that no other has. */
  insert(session: StoredSession): Promise<void>;
  /**
   * Finds the session of a browser, unless its user has been ended since it began; and, as of the same moment,
   * `RevocationStore.sequence`, for what begins with it.
   */
  find(id: string): Promise<{ session: StoredSession; sequence: number } | undefined>;
  /** Changes a session that is there. Resolves to `false` when it is not there any more. */
  update(session: Pick<StoredSession, 'id' | 'payload' | 'expiresAt'>): Promise<boolean>;
  /** Forgets a session, if it is there. */
  delete(id: string): Promise<void>;
  /** Ends all sessions of a user. Resolves to their number. */
  deleteOfUser(userId: string): Promise<number>;
}

/**
 * A secret of the server itself, shared by all nodes: a key that signs tokens, or one that signs cookies. Times are in
 * seconds since 1970.
 */
export interface StoredKey {
  /** The `kid` of a signing key. */
  readonly id: string;
  readonly use: 'token' | 'cookie';
  /** 1, 2, 3 ... per use: two nodes that make a key at the same time make the same generation, and one of them loses. */
  readonly generation: number;
  /** The JWK as JSON text, or that text encrypted under the key-encryption key. */
  readonly material: string;
  readonly createdAt: number;
  /** From when it signs. */
  readonly activeAt: number;
  /** Until when tokens signed with it are accepted; `undefined` while it is the newest. */
  readonly retiresAt: number | undefined;
}

/** Keeps the server's own keys: the `keys` of a {@link Storage}. */
export interface KeyStore {
  /** All keys of one use, oldest generation first. */
  list(use: StoredKey['use']): Promise<readonly StoredKey[]>;
  /** Adds a key; resolves to `false`, adding nothing, when its use has that generation already. */
  add(key: StoredKey): Promise<boolean>;
  /** Sets when a key retires, in seconds since 1970. */
  retire(id: string, retiresAt: number): Promise<void>;
}
