import { once } from 'node:events';
import { extname } from 'node:path';
import type { Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';

import type { Picture } from './picture.ts';
import { ServiceError } from './service-error.ts';
import type { Settings } from './settings.ts';

/** A job for the PDF at `path`. */
export type Job =
  | { readonly task: 'extract'; readonly path: string; readonly filename: string | null }
  | { readonly task: 'render'; readonly path: string; readonly picture: Picture };

/** The result of a thread: JSON text or an image, or the fault of the PDF. */
export type Outcome =
  | { readonly result: string | Uint8Array }
  | { readonly fault: { readonly status: number; readonly code: string; readonly message: string } };

/** Enough for a PDF of a few hundred pages. Images are not counted; their size is limited elsewhere. */
const MEMORY = { maxOldGenerationSizeMb: 512 };

/** Runs jobs in threads, because pdf.js would block the event loop. */
export class JobPool {
  readonly #settings: Settings;
  readonly #threads = new Set<Worker>();
  readonly #idle: Worker[] = [];
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  get load(): { running: number; waiting: number } {
    return { running: this.#running, waiting: this.#waiting.length };
  }

  /**
   * Runs a job when a thread is free.
   *
   * @param requester - the response for the result; if it is closed by then, the job is not run
   * @throws ServiceError - 503 when too many jobs are waiting; 422 for a PDF that cannot be processed
   */
  async run(job: Job, requester: Writable): Promise<string | Buffer> {
    await this.#waitForThread();
    try {
      if (requester.closed) throw new ServiceError(408, 'gone', 'The client closed the connection.');
      const result = await this.#work(job);
      return typeof result === 'string'
        ? result
        : Buffer.from(result.buffer, result.byteOffset, result.byteLength);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #waitForThread(): Promise<void> {
    if (this.#running >= this.#settings.workers) {
      if (this.#waiting.length >= this.#settings.queue) {
        throw new ServiceError(503, 'busy', 'Too many PDFs are waiting.', { 'Retry-After': '1' });
      }
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.push(resolve);
      await promise;
    }
    this.#running += 1;
  }

  async #work(job: Job): Promise<string | Uint8Array> {
    const thread = this.#idle.pop() ?? (await this.#start());
    let outcome: Outcome;
    try {
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
      thread.postMessage(job);
      [outcome] = await once(thread, 'message', { signal: AbortSignal.timeout(this.#settings.jobTimeout) });
    } catch (error) {
      // The state of the thread is undefined, so the next job gets a new one.
      this.#threads.delete(thread);
      await thread.terminate();
      throw tooComplex(error, this.#settings.jobTimeout);
    }
    this.#idle.push(thread);
    if ('result' in outcome) return outcome.result;
    const { status, code, message } = outcome.fault;
    throw new ServiceError(status, code, message);
  }

  async #start(): Promise<Worker> {
    const thread = new Worker(new URL(`worker${extname(import.meta.filename)}`, import.meta.url), {
      resourceLimits: MEMORY,
    });
    // The error also reaches once(); without a listener here it would end the process.
    thread.on('error', () => {});
    this.#threads.add(thread);
    // Wait until pdf.js is loaded, so that this does not count for the time limit of the job.
    await once(thread, 'message');
    return thread;
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#threads, (thread) => thread.terminate()));
  }
}

/** 422, not 503 or 504, because clients would retry with the same PDF. */
function tooComplex(error: unknown, jobTimeout: number): unknown {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  if (code === 'ABORT_ERR') {
    return new ServiceError(422, 'too_complex', `The PDF takes longer than ${jobTimeout} ms.`);
  }
  if (code === 'ERR_WORKER_OUT_OF_MEMORY') {
    return new ServiceError(422, 'too_complex', 'The PDF takes too much memory.');
  }
  return error;
}
