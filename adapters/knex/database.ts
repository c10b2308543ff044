import { setTimeout as delay } from 'node:timers/promises';

import { acquireConnection, isAcquireTimeout, interruptAfter } from './bounded-waits.ts';
import type { ConnectionPool } from './bounded-waits.ts';
import type { StorageState } from '../../lib/contracts/index.ts';
import { codeOf } from './dialect.ts';
import type { Dialect, ErrorKind } from './dialect.ts';
import { isDiskFull } from './error-codes.ts';
import { explainError } from './explain-error.ts';
import { TransactionQueue } from './transaction-queue.ts';
import { findPendingMigrations } from './migrations/index.ts';
import { createGroupCommit } from './group-commit.ts';
import type { Transactions } from './group-commit.ts';
import type { Statements } from './statements.ts';

/** How long to wait before another try, in milliseconds; doubled with each try. */
interface RetryDelays {
  readonly first: number;
  readonly longest: number;
}

// A writer holds SQLite's lock for microseconds, so the first delay is short. A server with too many connections needs longer.
const RETRY_DELAYS: Partial<Record<ErrorKind, RetryDelays>> = {
  contention: { first: 1, longest: 20 },
  'too many connections': { first: 100, longest: 400 },
  // On another connection, which may reach the primary when a standby has taken over.
  'read only': { first: 100, longest: 400 },
};

// In milliseconds, after the last change that has failed.
const FAILING_FOR = 60_000;

/** The database as the stores use it: each call acquires a connection of the pool and releases it. */
export interface Database extends Statements {
  readonly dialect: Dialect;
  /** As in `StorageState`. */
  readonly failing: StorageState['failing'];
  /** Runs several statements on one connection, without a transaction. */
  connection<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction, which is rolled back when `work` throws. A retry runs `work` again, so it does nothing
   * but call its statements.
   *
   * @param timeout - in milliseconds, instead of the database's own
   */
  transaction<T>(work: (statements: Statements) => Promise<T>, timeout?: number): Promise<T>;
  /** As in `Storage`. */
  confirm(): Promise<void>;
  /** Resolves when no transaction is waiting or under way. */
  settled(): Promise<void>;
  /** Hands `work` a connection for a transaction of the host. On SQLite one `work` runs at a time. */
  withConnection<T>(work: (acquired: AcquiredConnection) => Promise<T>): Promise<T>;
}

type Work<T> = (statements: Statements, connection: unknown) => Promise<T>;

/** A connection that a transaction of the host uses. */
export interface AcquiredConnection {
  readonly connection: unknown;
  readonly statements: Statements;
  /** Waits for the database, for no longer than the storage's timeout. */
  bounded<T>(work: Promise<T>): Promise<T>;
  /** Turns an error of the driver or the pool into a `GatehouseError`. */
  explain(error: unknown): Promise<unknown>;
}

/**
 * @param timeout - in milliseconds: how long a call waits for a connection and for locks before it throws `StorageError`
 * @param reader - a second, read-only connection, used while a transaction of the host has the single one
 */
export function createDatabase(
  pool: ConnectionPool,
  dialect: Dialect,
  timeout: number,
  reader?: () => Promise<Statements>,
): Database {
  let failure: { readonly reason: StorageState['failing']; readonly at: number } | undefined;
  const queue = dialect.name === 'sqlite' ? new TransactionQueue(timeout) : undefined;

  /** Runs work of this storage on a connection of the pool. */
  function withRetries<T>(work: Work<T>, longest: number = timeout, waited: number = longest): Promise<T> {
    return retry(async (left) => borrow(work, left, { isBounded: true }), longest, waited);
  }

  /** @param waited - in milliseconds: the time that the error's message names */
  async function retry<T>(
    attemptOnce: (left: number) => Promise<T>,
    longest: number,
    waited: number = longest,
  ): Promise<T> {
    const deadline = performance.now() + longest;
    let earlier: unknown;
    for (let tries = 0; ; tries += 1) {
      let pause: number;
      try {
        return await attemptOnce(Math.max(deadline - performance.now(), 0));
      } catch (error) {
        const delays = RETRY_DELAYS[dialect.errorKind(error)];
        pause = delays ? Math.min(delays.first * 2 ** tries, delays.longest) : Infinity;
        if (performance.now() + pause >= deadline) {
          // When the time ran out during the wait for a connection, the error that made this try necessary says more.
          const reason = isAcquireTimeout(error) ? (earlier ?? error) : error;
          throw await explain(reason, waited);
        }
        earlier = error;
      }
      // At random, so that callers that wait for the same lock do not all try at the same moment.
      await delay(pause * (0.5 + Math.random()));
    }
  }

  /** Runs one statement that only reads. */
  async function reading<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    if (!queue?.isActive || !reader) return withRetries(work);
    return retry(async () => work(await reader()), timeout);
  }

  /** Puts `work` in the queue of the host's transactions, where there is one. */
  function queued<T>(work: (left: number) => Promise<T>): (longest: number) => Promise<T> {
    return async (longest) => {
      if (!queue) return work(longest);
      const deadline = performance.now() + longest;
      const place = await acquireConnection(queue, longest);
      try {
        return await work(Math.max(deadline - performance.now(), 0));
      } finally {
        place.end();
      }
    };
  }

  /** @param options.isBounded - whether the work is interrupted after `longest` milliseconds, those for the connection included */
  async function borrow<T>(
    work: Work<T>,
    longest: number,
    { isBounded }: { readonly isBounded: boolean },
  ): Promise<T> {
    const deadline = performance.now() + longest;
    if (isBounded) queue?.recordCall();
    const connection = pool.acquireIfFree?.() ?? (await acquireConnection(pool, longest));
    try {
      const statements = dialect.enter(connection);
      try {
        const working = work(statements, connection);
        if (!isBounded || !dialect.interruption) return await working;
        return await bounded(working, connection, Math.max(deadline - performance.now(), 0));
      } catch (error) {
        // The server that the connection has reached does not become the primary by waiting.
        if (dialect.errorKind(error) === 'read only') await dialect.interruption?.abandon(connection);
        throw error;
      } finally {
        dialect.leave(connection);
      }
    } finally {
      const released = pool.releaseConnection(connection);
      if (released) await released;
    }
  }

  async function bounded<T>(work: Promise<T>, connection: unknown, longest: number): Promise<T> {
    const { interruption } = dialect;
    return interruption ? interruptAfter(work, connection, { longest, interruption }) : work;
  }

  async function explain(error: unknown, waited: number): Promise<unknown> {
    const isLocked = dialect.name === 'sqlite' && dialect.errorKind(error) === 'contention';
    const reason = isDiskFull(codeOf(error)) ? 'disk_full' : isLocked ? 'database_locked' : undefined;
    if (reason) failure = { reason, at: performance.now() };
    return explainError(error, { dialect, waited, findPending });
  }

  async function findPending(): Promise<readonly string[]> {
    try {
      const find: Work<readonly string[]> = async (statements) => findPendingMigrations(statements, dialect);
      return await borrow(find, timeout, { isBounded: true });
    } catch {
      // The database cannot be reached any more. The caller gets the first error, which says so.
      return [];
    }
  }

  /** Waits until the changes that the statements can see last, although they have changed nothing. */
  async function confirmIn(statements: Statements): Promise<void> {
    if (dialect.confirmation !== undefined) await statements.get(dialect.confirmation);
  }

  async function transactAlone<T>(work: (statements: Statements) => Promise<T>, longest: number): Promise<T> {
    return withRetries(async (statements, connection) => {
      await statements.run(dialect.begin);
      let changes = 0;
      const counted: Statements = {
        ...statements,
        async run(sql, values) {
          const changed = await statements.run(sql, values);
          changes += changed;
          return changed;
        },
      };
      try {
        const result = await work(counted);
        if (changes === 0) await confirmIn(statements);
        await statements.run('commit');
        return result;
      } catch (error) {
        await dialect.rollback(connection);
        throw error;
      }
    }, longest);
  }

  // With a single connection, transactions wait for each other anyway, so they share commits.
  const transactions: Transactions = pool.acquireIfFree
    ? createGroupCommit(dialect, { withRetries, explain: async (error) => explain(error, timeout) })
    : { transact: transactAlone, async settled() {} };

  return {
    dialect,
    get failing() {
      return failure && performance.now() - failure.at < FAILING_FOR ? failure.reason : undefined;
    },
    get: async (sql, values) => reading(async (statements) => statements.get(sql, values)),
    all: async (sql, values) => reading(async (statements) => statements.all(sql, values)),
    run: async (sql, values) =>
      withRetries(async (statements) => {
        const changed = await statements.run(sql, values);
        // The caller may rely on what another call has changed. That call may still wait, or have failed to wait.
        if (changed === 0) await confirmIn(statements);
        return changed;
      }),
    connection: withRetries,
    transaction: async (work, longest = timeout) => transactions.transact(work, longest),
    async confirm() {
      await withRetries(confirmIn);
    },
    settled: async () => transactions.settled(),
    withConnection: async (work) =>
      retry(
        queued(async (longest) =>
          borrow(
            async (statements, connection) =>
              work({
                connection,
                statements,
                bounded: async (working) => bounded(working, connection, timeout),
                explain: async (error) => explain(error, timeout),
              }),
            longest,
            { isBounded: false },
          ),
        ),
        timeout,
      ),
  };
}
