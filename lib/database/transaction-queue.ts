import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { Milliseconds } from '../contracts/duration.ts';
import { Turn } from './turn.ts';

// The connection counts as idle after so many intervals, each of so many milliseconds, without a call. The intervals are
// counted because one long interval proves nothing: a process on a busy processor may not have run at all during it.
const IDLE_INTERVAL = 2;
const IDLE_INTERVALS = 5;

// As parts of the timeout: the longest pause before a transaction, and the time after its request from which a transaction
// starts without a pause.
const LONGEST_PAUSE = 0.1;
const LATEST_PAUSE = 0.75;

/**
 * Runs transactions of the host on an SQLite file's single connection one after another, with a pause between two of them.
 *
 * A request makes several calls, and without the pause each of them would wait for another transaction. The pause begins only
 * if calls arrived during the transaction. It ends when no call has arrived for a while, and lasts no longer than the
 * transaction took.
 */
export class TransactionQueue extends Turn {
  /** The number of calls that needed the connection and were not transactions of the host. */
  calls = 0;
  /** Whether a transaction of the host has the connection, or is about to get it. */
  isActive = false;
  readonly #timeout: Milliseconds;
  #began = { at: 0, calls: 0 };
  #pauseUntil = 0;

  /** @param timeout - how long a transaction waits for its connection */
  constructor(timeout: Milliseconds) {
    super();
    this.#timeout = timeout;
  }

  override async take(): Promise<this> {
    const latest = performance.now() + this.#timeout * LATEST_PAUSE;
    await super.take();
    await this.#pause(latest);
    this.#began = { at: performance.now(), calls: this.calls };
    this.isActive = true;
    return this;
  }

  override release(): void {
    this.isActive = false;
    const endedAt = performance.now();
    const took = this.calls === this.#began.calls ? 0 : endedAt - this.#began.at;
    this.#pauseUntil = endedAt + Math.min(took, this.#timeout * LONGEST_PAUSE);
    super.release();
  }

  async #pause(latest: Milliseconds): Promise<void> {
    const until = Math.min(this.#pauseUntil, latest);
    for (let idle = 0; idle < IDLE_INTERVALS && performance.now() < until;) {
      const seen = this.calls;
      await delay(IDLE_INTERVAL);
      await nextTurn();
      idle = this.calls === seen ? idle + 1 : 0;
    }
  }
}
