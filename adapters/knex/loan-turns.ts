import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';

import type { ConnectionPool } from './bounded-waits.ts';

// In milliseconds, and how many times in a row: when nobody has called, nobody is in the middle of several calls. Counted,
// because a process that had to wait for a busy processor has not listened.
const LISTENING = 2;
const TIMES = 5;

// Of the time that the next transaction waits for its connection: how long others have their turn at most, and when it has
// waited too long for that.
const LONGEST_REST = 0.1;
const PATIENCE = 0.75;

/** One turn with the connection. */
export interface Turn {
  readonly end: () => void;
}

/**
 * Lends an SQLite file's one connection to transactions of the host one after the other. Between two of them all others have
 * their turn, if any have asked for it: until nobody calls any more, but for no longer than the transaction before took. A
 * request makes several calls, and without this it would wait for a transaction before each of them.
 */
export class LoanTurns implements ConnectionPool<Turn> {
  #last: Promise<void> = Promise.resolve();
  #restUntil = 0;
  #calls = 0;
  #isLent = false;
  readonly #timeout: number;

  /** @param timeout - in milliseconds: how long a transaction waits for its connection */
  constructor(timeout: number) {
    this.#timeout = timeout;
  }

  /** Whether a transaction of the host has the connection, or is about to get it. */
  get isLent(): boolean {
    return this.#isLent;
  }

  /** Notes that somebody else asks for the connection. */
  recordCall(): void {
    this.#calls += 1;
  }

  async acquireConnection(): Promise<Turn> {
    const before = this.#last;
    const askedAt = performance.now();
    const over = Promise.withResolvers<void>();
    this.#last = over.promise;
    await before;
    await this.#rest(askedAt + this.#timeout * PATIENCE);
    const startedAt = performance.now();
    const calls = this.#calls;
    this.#isLent = true;
    return {
      end: () => {
        this.#isLent = false;
        const endedAt = performance.now();
        const took = this.#calls === calls ? 0 : endedAt - startedAt;
        this.#restUntil = endedAt + Math.min(took, this.#timeout * LONGEST_REST);
        over.resolve();
      },
    };
  }

  async releaseConnection(turn: Turn): Promise<void> {
    turn.end();
  }

  async #rest(latest: number): Promise<void> {
    const until = Math.min(this.#restUntil, latest);
    for (let quiet = 0; quiet < TIMES && performance.now() < until;) {
      const seen = this.#calls;
      await delay(LISTENING);
      await nextTurn();
      quiet = this.#calls === seen ? quiet + 1 : 0;
    }
  }
}
