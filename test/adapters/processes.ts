import { fork } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';

import test from 'ava';

import { compileCache } from '../harness/compile-cache.ts';

/** Starts a program of this folder as a child process. */
export function start(program: string, ...values: string[]): ChildProcess {
  return startWith([], program, ...values);
}

/** The same, with further options of Node. */
export function startWith(options: readonly string[], program: string, ...values: string[]): ChildProcess {
  return fork(new URL(program, import.meta.url), values, {
    execArgv: ['--conditions=gatehouse:source', '--disable-warning=ExperimentalWarning', ...options],
    env: { ...process.env, ...compileCache },
  });
}

/** What a storage process does with the storage at an address. */
export type Task =
  | { readonly do: 'open' | 'migrate' | 'close' }
  /** Redeems each of the codes `times` times at once. Answers with the outcome of each attempt, by code. */
  | { readonly do: 'redeem'; readonly codes: readonly string[]; readonly times: number; readonly by: string }
  /** Begins each of the requests `times` times at once, as of `now`. Answers with the attempts that began it. */
  | {
      readonly do: 'begin';
      readonly requests: readonly string[];
      readonly times: number;
      readonly by: string;
      readonly now: number;
    }
  /** Revokes each of the grants. Answers with the ids that it revoked. */
  | { readonly do: 'revoke'; readonly grants: readonly string[] }
  /** Logs each of the users in and starts a grant, `times` times. Answers with what was {@link Begun}. */
  | {
      readonly do: 'login';
      readonly users: readonly string[];
      readonly times: number;
      readonly by: string;
    }
  /** Ends each of the users. */
  | { readonly do: 'end'; readonly users: readonly string[] };

/** A session and a grant of the same id, the grant's code redeemed for a refresh token of that id. */
export interface Begun {
  readonly id: string;
  readonly userId: string;
  /** The sequence number at which both began. */
  readonly sequence: number;
}

export interface Request {
  readonly number: number;
  readonly address: string;
  readonly task: Task;
}

/** The answer to the request with that number. */
export type Answer = { readonly number: number } & (
  | { readonly result: unknown }
  | { readonly error: string }
);

/** Storage processes for the tests of a file, each a node of a cluster. */
export interface Cluster {
  /** Opens a storage in each process, runs one task in each at the same time, and closes the storages. */
  atOnce<Result>(address: string, tasks: readonly Task[]): Promise<Result[]>;
}

export function startCluster(size: number): Cluster {
  const children = Array.from({ length: size }, () => start('storage-process.ts').setMaxListeners(0));
  let count = 0;
  test.after.always('end the processes', () => children.forEach((child) => child.kill('SIGKILL')));

  async function send(child: ChildProcess, address: string, task: Task): Promise<unknown> {
    count += 1;
    const request: Request = { number: count, address, task };
    const answered = Promise.withResolvers<unknown>();
    const listen = (answer: Answer) => {
      if (answer.number !== request.number) return;
      child.off('message', listen);
      if ('error' in answer) answered.reject(new Error(answer.error));
      else answered.resolve(answer.result);
    };
    child.on('message', listen);
    child.send(request);
    return answered.promise;
  }

  async function sendAll(address: string, tasks: readonly Task[]): Promise<unknown[]> {
    return Promise.all(tasks.map(async (task, index) => send(children[index]!, address, task)));
  }

  return {
    async atOnce<Result>(address: string, tasks: readonly Task[]): Promise<Result[]> {
      await sendAll(
        address,
        tasks.map(() => ({ do: 'open' })),
      );
      const results = await sendAll(address, tasks);
      await sendAll(
        address,
        tasks.map(() => ({ do: 'close' })),
      );
      return results as Result[];
    },
  };
}
