import type { ConnectionPool } from './bounded-waits.ts';

/**
 * The single connection of a pool that only this storage uses. It is acquired once, because acquiring it from Knex's pool
 * for each call takes several times as long as most statements on an SQLite file.
 */
export class SoleConnection<Connection> implements ConnectionPool<Connection> {
  readonly isSole = true;
  readonly #pool: ConnectionPool<Connection>;
  readonly #waiting: (() => void)[] = [];
  #connection: Connection | undefined;
  #isInUse = false;

  constructor(pool: ConnectionPool<Connection>) {
    this.#pool = pool;
  }

  acquireIfFree(): Connection | undefined {
    if (this.#isInUse || this.#connection === undefined) return undefined;
    this.#isInUse = true;
    return this.#connection;
  }

  async acquireConnection(): Promise<Connection> {
    await this.#waitUntilFree();
    try {
      this.#connection ??= await this.#pool.acquireConnection();
      return this.#connection;
    } catch (error) {
      this.releaseConnection();
      throw error;
    }
  }

  // To the caller that has waited longest. The connection stays marked as in use, so that no other caller gets it in between.
  releaseConnection(): undefined {
    const next = this.#waiting.shift();
    if (next) next();
    else this.#isInUse = false;
  }

  /** Waits until the connection is free, and returns it to the pool. */
  async returnToPool(): Promise<void> {
    await this.#waitUntilFree();
    const connection = this.#connection;
    this.#connection = undefined;
    if (connection !== undefined) await this.#pool.releaseConnection(connection);
    this.releaseConnection();
  }

  async #waitUntilFree(): Promise<void> {
    if (this.#isInUse) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    this.#isInUse = true;
  }
}
