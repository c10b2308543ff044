import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { Worker } from 'node:worker_threads';

import type { Picture } from './picture.ts';
import { ServiceError } from './service-error.ts';
import type { Settings } from './settings.ts';

/** Something to do with the PDF at `path`. */
export type Job =
  | { readonly task: 'extract'; readonly path: string; readonly filename: string | null }
  | { readonly task: 'render'; readonly path: string; readonly picture: Picture };

/** What a thread answers: JSON text or a picture, or what is wrong with the PDF. */
export type Outcome =
  | { readonly result: string | Uint8Array }
  | { readonly fault: { readonly status: number; readonly code: string; readonly message: string } };

/** More than a PDF of a few hundred pages takes. Pictures are not counted; their size is limited. */
const MEMORY = { maxOldGenerationSizeMb: 512 };

/** Threads that work on PDFs: pdf.js computes for a while and would hold up everybody else. */
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
   * Does a job when it is its turn.
   *
   * @param requester - whom the result is for; when it is gone by then, nothing is done
   * @throws ServiceError - 503 when too many wait already; 422 for a PDF that cannot be worked on
   */
  async run(job: Job, requester: Writable): Promise<string | Buffer> {
    await this.#turn();
    try {
      if (requester.closed) throw new ServiceError(408, 'gone', 'Nobody waits for the result any more.');
      const result = await this.#work(job);
      return typeof result === 'string'
        ? result
        : Buffer.from(result.buffer, result.byteOffset, result.byteLength);
    } finally {
      this.#running -= 1;
      this.#waiting.shift()?.();
    }
  }

  async #turn(): Promise<void> {
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
      // Nobody knows what state the thread is in; the next job gets a new one.
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
    const thread = new Worker(new URL('worker.ts', import.meta.url), { resourceLimits: MEMORY });
    // Whoever waits for the thread learns of it too; without a listener it would end the process.
    thread.on('error', () => {});
    this.#threads.add(thread);
    // It has loaded pdf.js: the time that this takes is not the PDF's.
    await once(thread, 'message');
    return thread;
  }

  async stop(): Promise<void> {
    await Promise.all(Array.from(this.#threads, (thread) => thread.terminate()));
  }
}

/** Not a 503 or 504: the client would send the same PDF again. */
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
