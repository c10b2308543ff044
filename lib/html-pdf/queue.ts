import { closedError, HtmlPdfError } from './error.ts';

/** Runs a bounded number of conversions at a time; a bounded number of others wait, in the order of their calls. */
export class ConversionQueue {
  readonly #maxConcurrency: number;
  readonly #maxQueue: number;
  readonly #waiting = new Set<{ readonly start: () => void; readonly refuse: (error: unknown) => void }>();
  #running = 0;
  #closed = false;
  #idle: PromiseWithResolvers<void> | undefined;

  constructor(maxConcurrency: number, maxQueue: number) {
    this.#maxConcurrency = maxConcurrency;
    this.#maxQueue = maxQueue;
  }

  /** How many wait. */
  get waiting(): number {
    return this.#waiting.size;
  }

  /**
   * Waits for a turn, and returns the function that ends it, to be called once.
   *
   * @throws HtmlPdfError when the queue is full or closed; the reason of `signal` when it aborts
   */
  async enter(signal: AbortSignal | undefined): Promise<() => void> {
    signal?.throwIfAborted();
    if (this.#closed) throw closedError();
    if (this.#running < this.#maxConcurrency) this.#running += 1;
    else await this.#wait(signal);
    return () => this.#leave();
  }

  /** Refuses those that wait and all later ones, and waits for those that run. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { refuse } of this.#waiting) refuse(closedError());
    if (this.#running === 0) return;
    this.#idle ??= Promise.withResolvers<void>();
    await this.#idle.promise;
  }

  async #wait(signal: AbortSignal | undefined): Promise<void> {
    if (this.#waiting.size >= this.#maxQueue) {
      throw new HtmlPdfError(
        'ERR_HTML_PDF_FULL',
        `${this.#maxQueue} conversions wait already. Try again later, or raise maxQueue or maxConcurrency.`,
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

  /** Passes the turn to the next one; the number of running conversions stays the same then. */
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
