import { setImmediate as nextTurn } from 'node:timers/promises';

import type { Milliseconds } from '../contracts/duration.ts';
import type { SqlConnection } from './port.ts';
import type { Statements } from './statements.ts';

export type TransactionWork<T> = (statements: Statements) => Promise<T>;

/** A transaction that has not begun. */
interface QueuedTransaction {
  readonly work: TransactionWork<unknown>;
  /** The limit of all its waits together. */
  readonly timeout: Milliseconds;
  /** By `performance.now()`. */
  readonly since: Milliseconds;
  readonly resolve: (value: unknown) => void;
  readonly reject: (reason: unknown) => void;
}

/** Transactions on one connection. */
interface GroupCommit {
  /** Runs work in a transaction. A retry runs the work again, so it does nothing but call its statements. */
  transact<T>(work: TransactionWork<T>, timeout: Milliseconds): Promise<T>;
  /** Resolves when no transaction is waiting or under way. */
  settled(): Promise<void>;
}

// Limited, because reads on the same connection wait for the whole group.
const MAX_GROUP_SIZE = 32;

/**
 * Group commit: transactions that wait for an SQLite file's single connection share one commit, even when they have one statement only,
 * because a commit costs several times as much as the statements of most transactions. A transaction resolves only after the commit; each
 * of them has a savepoint, so that a failed one is rolled back alone.
 *
 * @param withRetries - acquires the connection, tries again for `longest` ms while the file is locked, and throws a `GatehouseError`
 * whose message names `waited` ms as the time waited
 * @param explain - turns an error of the driver into a `GatehouseError`
 */
export function createGroupCommit({
  begin,
  rollback,
  withRetries,
  explain,
}: {
  readonly begin: string;
  readonly rollback: (connection: SqlConnection) => Promise<void>;
  withRetries: (
    work: (statements: Statements, connection: SqlConnection) => Promise<void>,
    longest: Milliseconds,
    options: { readonly waited: Milliseconds },
  ) => Promise<void>;
  explain: (error: unknown) => Promise<unknown>;
}): GroupCommit {
  const waiting: QueuedTransaction[] = [];
  let running: Promise<void> | undefined;

  /** @returns a function that settles the caller's promise, to be called after the commit */
  async function runInside(
    { work, resolve, reject }: QueuedTransaction,
    statements: Statements,
  ): Promise<() => void> {
    await statements.run('savepoint joined');
    try {
      const value = await work(statements);
      await statements.run('release joined');
      return () => resolve(value);
    } catch (error) {
      await statements.run('rollback to joined');
      await statements.run('release joined');
      // Explained after the commit, because explain() may need the connection.
      return () => void explain(error).then(reject, reject);
    }
  }

  async function runTogether(first: QueuedTransaction): Promise<void> {
    let joined: QueuedTransaction[] = [];
    let settlers: (() => void)[] = [];

    async function attempt(statements: Statements, connection: SqlConnection): Promise<void> {
      // A retry begins with an empty group: the transactions that had joined wait again.
      waiting.unshift(...joined);
      [joined, settlers] = [[], []];
      await statements.run(begin);
      try {
        const value = await first.work(statements);
        settlers.push(() => first.resolve(value));
        while (joined.length < MAX_GROUP_SIZE - 1 && waiting.length > 0) {
          joined.push(waiting.shift()!);
          settlers.push(await runInside(joined.at(-1)!, statements));
        }
        await statements.run('commit');
      } catch (error) {
        await rollback(connection);
        throw error;
      }
    }

    try {
      const left = first.since + first.timeout - performance.now();
      await withRetries(attempt, Math.max(left, 0), { waited: first.timeout });
    } catch (error) {
      for (const { reject } of [first, ...joined]) reject(error);
      return;
    }
    for (const settle of settlers) settle();
  }

  async function runAll(): Promise<void> {
    // Node parses the next request that has arrived only after this one waits, so without this pause the group would be empty.
    await nextTurn();
    for (let first = waiting.shift(); first; first = waiting.shift()) {
      await runTogether(first);
    }
    running = undefined;
  }

  return {
    transact: async <T>(work: TransactionWork<T>, timeout: Milliseconds) =>
      new Promise<T>((resolve, reject) => {
        const since = performance.now();
        waiting.push({ work, timeout, since, resolve: resolve as QueuedTransaction['resolve'], reject });
        running ??= runAll();
      }),
    settled: async () => running,
  };
}
