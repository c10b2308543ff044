import type { ConnectionPool } from './bounded-waits.ts';

/**
 * The one connection of a pool that nobody else uses. It is taken from the pool once: for an SQLite file, borrowing it
 * from the pool for each call takes several times as long as what most calls do with it.
 */
export class SoleConnection<Connection> implements ConnectionPool<Connection> {
  readonly #pool: ConnectionPool<Connection>;
  readonly #waiting: (() => void)[] = [];
  #connection: Connection | undefined;
  #isLent = false;

  constructor(pool: ConnectionPool<Connection>) {
    this.#pool = pool;
  }

  acquireIfFree(): Connection | undefined {
    if (this.#isLent || this.#connection === undefined) return undefined;
    this.#isLent = true;
    return this.#connection;
  }

  async acquireConnection(): Promise<Connection> {
    await this.#waitForTurn();
    try {
      this.#connection ??= await this.#pool.acquireConnection();
      return this.#connection;
    } catch (error) {
      this.#passOn();
      throw error;
    }
  }

  async releaseConnection(): Promise<void> {
    this.#passOn();
  }

  /** Gives the connection back to the pool when nobody uses it any more. */
  async giveBack(): Promise<void> {
    await this.#waitForTurn();
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await this.#pool.releaseConnection(connection);
    this.#passOn();
  }

  async #waitForTurn(): Promise<void> {
    if (this.#isLent) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isLent = true;
  }

  // To the one who has waited longest, without being free in between.
  #passOn(): void {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isLent = false;
  }
}
