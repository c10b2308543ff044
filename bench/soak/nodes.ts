import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Pool } from 'undici';

import { compileCache } from '../../test/harness/compile-cache.ts';
import type { NodeMessage, NodeSettings } from './platform.ts';
import type { Random } from './random.ts';

/** In milliseconds: a request that takes longer has no answer. */
const TIMEOUT = 30_000;

/** Of each node, at most. */
const CONNECTIONS = 24;

export interface Request {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export interface Response {
  readonly status: number;
  readonly location: string | undefined;
  readonly setCookie: string | string[] | undefined;
  readonly text: string;
}

/** A node that listens. */
export class RunningNode {
  readonly number: number;
  readonly #process: ChildProcess;
  readonly #pool: Pool;

  constructor(number: number, process: ChildProcess, port: number) {
    this.number = number;
    this.#process = process;
    this.#pool = new Pool(`http://127.0.0.1:${port}`, {
      connections: CONNECTIONS,
      pipelining: 1,
      headersTimeout: TIMEOUT,
      bodyTimeout: TIMEOUT,
    });
  }

  /** Resolves to `undefined` when there is no answer, or only a part of one. */
  async send({ method, path, headers = {}, body = '' }: Request): Promise<Response | undefined> {
    try {
      const sent = { method, path, headers, ...(method === 'POST' ? { body } : {}) };
      const { statusCode, headers: received, body: content } = await this.#pool.request(sent);
      const { location } = received;
      return {
        status: statusCode,
        location: typeof location === 'string' ? location : undefined,
        setCookie: received['set-cookie'],
        text: await content.text(),
      };
    } catch {
      return undefined;
    }
  }

  /** Resolves to the CPU time that it has used, in milliseconds. */
  async kill(): Promise<number> {
    const used = cpuTimeOf(this.#process.pid!);
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended;
    // Requests that still wait for a connection end too.
    await this.#pool.destroy();
    return used;
  }
}

/** The nodes of a cluster: processes that share a database, which are killed and started again. */
export class Nodes implements AsyncDisposable {
  readonly #settings: NodeSettings;
  readonly #random: Random;
  readonly #running: RunningNode[] = [];
  readonly #starting = new Set<Promise<void>>();
  #waiting = Promise.withResolvers<void>();
  /** Why a node could not be started. */
  failure: Error | undefined;
  kills = 0;
  /** Of those that were killed, in milliseconds. */
  cpuTime = 0;
  /** What the nodes have logged as errors, the first ones. */
  readonly errors: string[] = [];

  private constructor(settings: NodeSettings, random: Random) {
    this.#settings = settings;
    this.#random = random;
  }

  static async start(count: number, settings: NodeSettings, random: Random): Promise<Nodes> {
    const nodes = new Nodes(settings, random);
    for (let number = 0; number < count; number += 1) nodes.#startAgain(number);
    await nodes.allRunning();
    return nodes;
  }

  /** One of those that run, once there is one. */
  async pick(): Promise<RunningNode> {
    while (this.#running.length === 0) {
      if (this.failure) throw this.failure;
      await this.#waiting.promise;
    }
    return this.#random.pick(this.#running);
  }

  /** Those that listen. */
  get running(): readonly RunningNode[] {
    return [...this.#running];
  }

  /** Kills one of them with SIGKILL and starts it again. One node always runs. */
  async killOne(): Promise<void> {
    if (this.#running.length < 2) return;
    const node = this.#random.pick(this.#running);
    this.#running.splice(this.#running.indexOf(node), 1);
    this.kills += 1;
    this.cpuTime += await node.kill();
    this.#startAgain(node.number);
  }

  async allRunning(): Promise<void> {
    while (this.#starting.size > 0) await Promise.all(this.#starting);
    if (this.failure) throw this.failure;
  }

  #startAgain(number: number): void {
    const starting = this.#start(number)
      .catch((error: unknown) => {
        this.failure ??= error as Error;
      })
      .finally(() => {
        this.#starting.delete(starting);
        this.#waiting.resolve();
        this.#waiting = Promise.withResolvers();
      });
    this.#starting.add(starting);
  }

  async #start(number: number): Promise<void> {
    const child = fork(join(import.meta.dirname, 'node-process.ts'), [JSON.stringify(this.#settings)], {
      env: { ...process.env, ...compileCache, NODE_ENV: 'production' },
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        ...(this.#settings.fromSources ? ['--conditions=gatehouse:source'] : []),
      ],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    let complaints = '';
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      complaints = (complaints + text).slice(-4000);
    });
    const listening = Promise.withResolvers<number>();
    child.on('message', (message: NodeMessage) => {
      if ('port' in message) listening.resolve(message.port);
      else if (this.errors.length < 20) this.errors.push(`node ${number}: ${message.error}`);
    });
    child.on('exit', (code, signal) => {
      const error = new Error(`Node ${number} ended with ${code ?? signal}: ${complaints}`);
      listening.reject(error);
      if (signal !== 'SIGKILL') this.failure ??= error;
    });
    this.#running.push(new RunningNode(number, child, await listening.promise));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#starting);
    for (const node of this.#running.splice(0)) this.cpuTime += await node.kill();
  }
}

// In milliseconds, on Linux.
const CLOCK_TICK = 10;

/** 0 where the system does not say. */
function cpuTimeOf(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ');
    return (Number(fields[11]) + Number(fields[12])) * CLOCK_TICK;
  } catch {
    return 0;
  }
}
