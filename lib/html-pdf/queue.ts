import { closedError, HtmlToPdfError } from './error.ts';

/** Runs a limited number of conversions at a time; a limited number of others wait in the order of their calls. */
export class ConversionQueue {
  readonly #concurrency: number;
  readonly #maxQueue: number;
  readonly #waiting = new Set<{ readonly start: () => void; readonly refuse: (error: unknown) => void }>();
  #running = 0;
  #closed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(concurrency: number, maxQueue: number) {
    this.#concurrency = concurrency;
    this.#maxQueue = maxQueue;
  }

  /** How many conversions wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a turn, and returns the function that ends it, to be called once.
   *
   * @throws HtmlToPdfError when the queue is full or closed; the reason of `signal` when it aborts
   */
  async enter(signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#closed) throw closedError();
    if (this.#running < this.#concurrency) this.#running += 1;
    else await this.#wait(signal);
    return () => this.#leave();
  }

  /** Refuses waiting and later conversions, and waits for the running ones. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { refuse } of this.#waiting) refuse(closedError());
    if (this.#running === 0) return;
    this.#idle ??= Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#maxQueue) {
      throw new HtmlToPdfError(
        'ERR_HTML_TO_PDF_FULL',
        `${this.#maxQueue} conversions wait already. Try again later, or raise maxQueue or concurrency.`,
      );
    }
    const { promise, reject, resolve } = Promise.withResolvers<void>();
    const entry = { start: resolve, refuse: reject };
    const abort = (): void => reject(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    this.#waiting.add(entry);
    try {
      await promise;
    } finally {
      this.#waiting.delete(entry);
      signal?.removeEventListener('abort', abort);
    }
  }

  /** Passes the turn to the next conversion, so that the number of running conversions stays the same. */
  #leave(): void {
    const [next] = this.#waiting;
    if (next) {
      this.#waiting.delete(next);
      next.start();
      return;
    }
    this.#running -= 1;
    if (this.#running === 0) this.#idle?.resolve();
  }
}
