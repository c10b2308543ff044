import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Profiler } from 'node:inspector/promises';

import type { Contestant } from './contestants.ts';
import type { DatabaseCpu } from './database-cpu.ts';
import type { Answered, Asked, Job, Listening, Question, Usage } from './protocol.ts';

/** The server of a contestant, in its own process. */
export class RunningContestant implements AsyncDisposable {
  readonly listening: Listening;
  readonly #process: ChildProcess;
  readonly #databaseCpu: DatabaseCpu;
  readonly #waiting = new Map<number, (answer: unknown) => void>();
  #asked = 0;

  private constructor(process: ChildProcess, listening: Listening, databaseCpu: DatabaseCpu) {
    this.#process = process;
    this.#databaseCpu = databaseCpu;
    this.listening = listening;
    process.on('message', ({ number, answer }: Answered) => {
      this.#waiting.get(number)?.(answer);
      this.#waiting.delete(number);
    });
  }

  /**
   * Starts a server and waits until it listens.
   * @param databaseCpu - what its usage includes of its database
   */
  static async start(
    { file }: Pick<Contestant, 'file'>,
    job: Job,
    databaseCpu: DatabaseCpu = () => 0,
  ): Promise<RunningContestant> {
    const child = fork(join(import.meta.dirname, 'server', file), [JSON.stringify(job)], {
      env: { ...process.env, NODE_ENV: 'production' },
      execArgv: job.fromSources ? ['--conditions=gatehouse:source'] : [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let errors = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      errors += text;
    });
    const ended = once(child, 'exit').then(() => {
      throw new Error(`The server of ${file} ended: ${errors}`);
    });
    const [listening] = (await Promise.race([once(child, 'message'), ended])) as [Listening];
    ended.catch(() => {});
    return new RunningContestant(child, listening, databaseCpu);
  }

  async usage(): Promise<Usage> {
    const usage = (await this.#ask('usage')) as Usage;
    return { ...usage, cpu: usage.cpu + this.#databaseCpu() };
  }

  async startProfile(): Promise<void> {
    await this.#ask('start profile');
  }

  async stopProfile(): Promise<Profiler.Profile> {
    return (await this.#ask('stop profile')) as Profiler.Profile;
  }

  /** Starts to prune expired rows. */
  async startPruning(): Promise<void> {
    await this.#ask('start pruning');
  }

  /** @throws when all expired rows were pruned before, because then the measurement is invalid */
  async stopPruning(): Promise<void> {
    if ((await this.#ask('stop pruning')) !== true)
      throw new Error('All expired rows were pruned before the end of the measurement');
  }

  async #ask(question: Question): Promise<unknown> {
    this.#asked += 1;
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#waiting.set(this.#asked, resolve);
    this.#process.send({ number: this.#asked, question } satisfies Asked);
    return promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const ended = once(this.#process, 'exit');
    this.#process.disconnect();
    await ended;
  }
}
