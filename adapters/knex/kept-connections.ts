import type { EventEmitter } from 'node:events';

import type { Milliseconds } from '../../lib/contracts/duration.ts';
import type { ConnectionPool } from './bounded-waits.ts';

// After which a connection goes back to the pool, so that all who use the pool have their turn, and the pool checks
// and replaces it.
const LONGEST: Milliseconds = 20;

interface Waiting<Connection> {
  resolve(connection: Connection): void;
  reject(reason: unknown): void;
}

/**
 * Connections of a pool that serve several calls, because acquiring one from Knex's pool takes about as long as sending a statement. A
 * caller that waits gets the next one that becomes free; without one, it returns to the pool.
 *
 * @param options.most - the number of connections of the pool
 * @param options.isShared - the host uses the pool too: a connection that nobody waits for returns in the same turn of the event loop
 */
export class KeptConnections<Connection extends EventEmitter> implements ConnectionPool<Connection> {
  readonly #pool: ConnectionPool<Connection>;
  readonly #returnLater: () => void;
  /** By the time, as of `performance.now()`, at which they return. */
  readonly #until = new WeakMap<Connection, Milliseconds>();
  readonly #watched = new WeakSet<Connection>();
  #free: Connection[] = [];
  readonly #waiting: Waiting<Connection>[] = [];
  readonly #most: number;
  /** The number of connections that are not in the pool, and of those that it was asked for. */
  #taken = 0;
  #asked = 0;
  #isReturning = false;

  constructor(
    pool: ConnectionPool<Connection>,
    { isShared, most }: { readonly isShared: boolean; readonly most: number },
  ) {
    this.#pool = pool;
    this.#most = most;
    const returnFree = (): void => this.#returnFree();
    this.#returnLater = () => void (isShared ? setImmediate(returnFree) : setTimeout(returnFree, LONGEST));
  }

  acquireIfFree(): Connection | undefined {
    return this.#free.pop();
  }

  async acquireConnection(): Promise<Connection> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject });
      this.#askForMore();
    });
  }

  releaseConnection(connection: Connection): Promise<void> | undefined {
    if (this.#until.get(connection)! < performance.now()) return this.discardConnection(connection);
    const next = this.#waiting.shift();
    if (next) {
      next.resolve(connection);
      return undefined;
    }
    this.#free.push(connection);
    if (!this.#isReturning) this.#returnLater();
    this.#isReturning = true;
    return undefined;
  }

  /** Returns a connection to the pool, which checks it before it hands it out again. */
  discardConnection(connection: Connection): Promise<void> | undefined {
    const released = this.#pool.releaseConnection(connection);
    this.#taken -= 1;
    this.#askForMore();
    return released;
  }

  /** Asks the pool for a connection for a caller that waits, unless all it has are here. */
  #askForMore(): void {
    if (this.#asked >= this.#waiting.length || this.#taken + this.#asked >= this.#most) return;
    this.#asked += 1;
    void this.#ask();
  }

  async #ask(): Promise<void> {
    try {
      const connection = await this.#pool.acquireConnection();
      this.#asked -= 1;
      this.#taken += 1;
      this.#watch(connection);
      // The caller may have got another one.
      const isKept = this.#waiting.length > 0;
      this.#until.set(connection, isKept ? performance.now() + LONGEST : 0);
      void this.releaseConnection(connection);
    } catch (error) {
      this.#asked -= 1;
      this.#waiting.shift()?.reject(error);
      this.#askForMore();
    }
  }

  /** A connection that ends while it is free is not handed out. */
  #watch(connection: Connection): void {
    if (this.#watched.has(connection)) return;
    this.#watched.add(connection);
    const remove = (): void => {
      const index = this.#free.indexOf(connection);
      if (index === -1) return;
      this.#free.splice(index, 1);
      void this.discardConnection(connection);
    };
    connection.on('error', remove).on('end', remove);
  }

  #returnFree(): void {
    this.#isReturning = false;
    const free = this.#free;
    this.#free = [];
    for (const connection of free) void this.discardConnection(connection);
  }
}
