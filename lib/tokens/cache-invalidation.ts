/**
 * What was changed or ended on this node: whatever any of the members fits has to be forgotten. Forgetting too much costs a
 * look-up, no more.
 */
export interface Invalidated {
  /** The `jti` of a token. Its text would not do: who has an ES256 token can give it another signature that is right too. */
  readonly tokenId?: string | undefined;
  readonly grantId?: string | undefined;
  /** A user, through whatever client, and the clients that they own. */
  readonly userId?: string | undefined;
  /** A client, for itself and for users. */
  readonly clientId?: string | undefined;
}

/** Tells the caches of this node what to forget at once. Those of other nodes learn it from the storage, within `revocationLag`. */
export class CacheInvalidation {
  readonly #listeners: ((what?: Invalidated) => void)[] = [];

  /** Has a cache told, from here on. */
  add(forget: (what?: Invalidated) => void): void {
    this.#listeners.push(forget);
  }

  /** Call it when the storage has the change. Without an argument everything is forgotten. */
  readonly notify = (what?: Invalidated): void => {
    for (const forget of this.#listeners) forget(what);
  };
}
