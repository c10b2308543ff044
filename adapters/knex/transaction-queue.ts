import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { ConnectionPool } from './bounded-waits.ts';

// The connection counts as idle after so many intervals, each of so many milliseconds, without a call. The intervals are
// counted because one long interval proves nothing: a process on a busy processor may not have run at all during it.
const IDLE_INTERVAL = 2;
const IDLE_INTERVALS = 5;

// As parts of the timeout: the longest pause before a transaction, and the time after its request from which a transaction
// starts without a pause.
const LONGEST_PAUSE = 0.1;
const LATEST_PAUSE = 0.75;

/** The place of one transaction in the queue, which is its own until `end()` is called. */
export interface QueuePlace {
  readonly end: () => void;
}

/**
 * Runs transactions of the host on an SQLite file's single connection one after another, with a pause between two of them.
 *
 * A request makes several calls, and without the pause each of them would wait for another transaction. The pause begins only
 * if calls arrived during the transaction. It ends when no call has arrived for a while, and lasts no longer than the
 * transaction took.
 */
export class TransactionQueue implements ConnectionPool<QueuePlace> {
  #last: Promise<void> = Promise.resolve();
  #pauseUntil = 0;
  #calls = 0;
  #isActive = false;
  readonly #timeout: number;

  /** @param timeout - in milliseconds: how long a transaction waits for its connection */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /** Whether a transaction of the host has the connection, or is about to get it. */
  get isActive(): boolean {
    return this.#isActive;
  }

  /** Counts a call that needs the connection and is not a transaction of the host. */
  recordCall(): void {
    this.#calls += 1;
  }

  async acquireConnection(): Promise<QueuePlace> {
    const before = this.#last;
    const askedAt = performance.now();
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    await before;
    await this.#pause(askedAt + this.#timeout * LATEST_PAUSE);
    const startedAt = performance.now();
    const calls = this.#calls;
    this.#isActive = true;
    return {
      end: () => {
        this.#isActive = false;
        const endedAt = performance.now();
        const took = this.#calls === calls ? 0 : endedAt - startedAt;
        this.#pauseUntil = endedAt + Math.min(took, this.#timeout * LONGEST_PAUSE);
        over.resolve();
      },
    };
  }

  async releaseConnection(place: QueuePlace): Promise<void> {
    place.end();
  }

  async #pause(latest: number): Promise<void> {
    const until = Math.min(this.#pauseUntil, latest);
    for (let idle = 0; idle < IDLE_INTERVALS && performance.now() < until;) {
      const seen = this.#calls;
      await delay(IDLE_INTERVAL);
      await nextTurn();
      idle = this.#calls === seen ? idle + 1 : 0;
    }
  }
}
