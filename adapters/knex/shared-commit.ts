import { setImmediate as othersArrived } from 'node:timers/promises';

import type { Dialect } from './dialect.ts';
import type { Statements } from './statements.ts';

type Work<T> = (statements: Statements) => Promise<T>;

/** A transaction that waits for its turn. */
interface Waiting {
  readonly work: Work<unknown>;
  /** In milliseconds, for all that it waits for. */
  readonly timeout: number;
  /** By `performance.now()`. */
  readonly since: number;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Transactions on one connection. */
export interface Transactions {
  /** Runs work in a transaction. It may run more than once, so it does nothing but call its statements. */
  transact<T>(work: Work<T>, timeout: number): Promise<T>;
  /** Resolves when none is waiting or under way. */
  settled(): Promise<void>;
}

// What is read meanwhile waits for all of them.
const MOST = 32;

/**
 * Lets transactions that wait for an SQLite file's one connection share a commit: writing a commit down costs several times
 * what most transactions do. None is told that it is done before the commit is; one that fails is undone by itself.
 *
 * @param patiently - borrows the connection, tries again for `longest` ms while the file is locked, and explains what it throws as
 * that of somebody who has waited for `timeout` ms
 * @param explain - turns an error of the database into the one that callers are promised
 */
export function createSharedCommit(
  { begin, rollback }: Pick<Dialect, 'begin' | 'rollback'>,
  {
    patiently,
    explain,
  }: {
    patiently: (
      work: (statements: Statements, connection: unknown) => Promise<void>,
      longest: number,
      timeout: number,
    ) => Promise<void>;
    explain: (error: unknown) => Promise<unknown>;
  },
): Transactions {
  const waiting: Waiting[] = [];
  let running: Promise<void> | undefined;

  /** @returns what tells its caller, once it is kept */
  async function runInside({ work, resolve, reject }: Waiting, statements: Statements): Promise<() => void> {
    await statements.run('savepoint joined');
    try {
      const value = await work(statements);
      await statements.run('release joined');
      return () => resolve(value);
    } catch (error) {
      await statements.run('rollback to joined');
      await statements.run('release joined');
      // Explaining it may need the connection.
      return () => void explain(error).then(reject, reject);
    }
  }

  async function runTogether(first: Waiting): Promise<void> {
    let joined: Waiting[] = [];
    let listeners: (() => void)[] = [];

    async function attempt(statements: Statements, connection: unknown): Promise<void> {
      // Those who have joined an attempt that has to be made again.
      waiting.unshift(...joined);
      [joined, listeners] = [[], []];
      await statements.run(begin);
      try {
        const value = await first.work(statements);
        listeners.push(() => first.resolve(value));
        while (joined.length < MOST - 1 && waiting.length > 0) {
          joined.push(waiting.shift()!);
          listeners.push(await runInside(joined.at(-1)!, statements));
        }
        await statements.run('commit');
      } catch (error) {
        await rollback(connection);
        throw error;
      }
    }

    try {
      const left = first.since + first.timeout - performance.now();
      await patiently(attempt, Math.max(left, 0), first.timeout);
    } catch (error) {
      for (const { reject } of [first, ...joined]) reject(error);
      return;
    }
    for (const notify of listeners) notify();
  }

  async function runAll(): Promise<void> {
    // A request comes this far before Node looks at the next one that has arrived, so without this nobody would join.
    await othersArrived();
    for (let first = waiting.shift(); first; first = waiting.shift()) await runTogether(first);
    running = undefined;
  }

  return {
    transact: async <T>(work: Work<T>, timeout: number) =>
      new Promise<T>((resolve, reject) => {
        const since = performance.now();
        waiting.push({ work, timeout, since, resolve: resolve as Waiting['resolve'], reject });
        running ??= runAll();
      }),
    settled: async () => running,
  };
}
