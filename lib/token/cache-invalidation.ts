import type { ChangeFeed, StoredChange } from '../contracts/index.ts';

// How many changes are sent by name; more of them are sent as any change.
const MAX_NAMED = 100;

/**
 * Invalidates the caches of nodes: those of this node at once, those of the others by a message where the storage can send one.
 * Without a message they read the change from the storage within `tokens.revocationLag`.
 */
export class CacheInvalidation {
  readonly #listeners: ((what?: StoredChange) => void)[] = [];
  readonly #feed: ChangeFeed | undefined;
  /** `undefined` stands for any change. */
  #unsent: (StoredChange | undefined)[] = [];
  #sending: Promise<void> | undefined;

  constructor(feed?: ChangeFeed) {
    this.#feed = feed;
  }

  /** Registers a cache. */
  add(forget: (what?: StoredChange) => void): void {
    this.#listeners.push(forget);
  }

  /** Invalidates matching entries of the caches of this node. Without an argument, all entries. */
  readonly notify = (what?: StoredChange): void => {
    for (const forget of this.#listeners) forget(what);
  };

  /**
   * Invalidates matching entries on all nodes, without an argument all entries; call it after the change is stored. Nothing waits
   * for the message.
   */
  readonly announce = (what?: StoredChange): void => {
    this.notify(what);
    if (!this.#feed) return;
    this.#unsent.push(what);
    this.#sending ??= this.#send(this.#feed);
  };

  /** Receives the messages of the other nodes. */
  async subscribe(): Promise<void> {
    await this.#feed?.subscribe((changes) => {
      if (changes.length === 0) this.notify();
      for (const change of changes) this.notify(change);
    });
  }

  /** Resolves when no message is waiting or on its way. */
  async announced(): Promise<void> {
    await this.#sending;
  }

  /** One message at a time, so that many changes at once take few messages. */
  async #send(feed: ChangeFeed): Promise<void> {
    // After all changes of this turn.
    await Promise.resolve();
    while (this.#unsent.length > 0) {
      const changes = this.#unsent;
      this.#unsent = [];
      // Without the message the others read the change from the storage.
      await feed.publish(namesOf(changes)).catch(() => {});
    }
    this.#sending = undefined;
  }
}

function namesOf(changes: readonly (StoredChange | undefined)[]): readonly StoredChange[] {
  const named = changes.filter((change) => change !== undefined);
  return named.length < changes.length || named.length > MAX_NAMED ? [] : named;
}
