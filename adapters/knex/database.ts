import { setTimeout as delay } from 'node:timers/promises';

import { acquireConnection, isAcquireTimeout, rescued } from './bounded-waits.ts';
import type { ConnectionPool } from './bounded-waits.ts';
import type { Dialect, Trouble } from './dialect.ts';
import { explainError } from './explain-error.ts';
import { LoanTurns } from './loan-turns.ts';
import { findPendingMigrations } from './migrations/index.ts';
import { createSharedCommit } from './shared-commit.ts';
import type { Transactions } from './shared-commit.ts';
import type { Statements } from './statements.ts';

/** How long to wait before something is tried again, in milliseconds: longer each time. */
interface Pauses {
  readonly first: number;
  readonly longest: number;
}

// Writers hold SQLite's lock for some microseconds. A server that has too many connections is not to be asked all the time.
const PAUSES: Partial<Record<Trouble, Pauses>> = {
  contention: { first: 1, longest: 20 },
  'too many connections': { first: 100, longest: 400 },
};

/** The database as the stores see it: every call borrows a connection of Knex's pool and gives it back. */
export interface Database extends Statements {
  readonly dialect: Dialect;
  /** Runs several statements on one connection, without a transaction. */
  connection<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction: all of it or, when it throws, none. It may run more than once, so it does nothing but
   * call its statements.
   *
   * @param timeout - in milliseconds, instead of the database's own
   */
  transaction<T>(work: (statements: Statements) => Promise<T>, timeout?: number): Promise<T>;
  /** Resolves when no transaction waits for the others any more. */
  settled(): Promise<void>;
  /** Lends a connection for as long as `work` takes. */
  lend<T>(work: (loan: Loan) => Promise<T>): Promise<T>;
}

/** A connection that somebody else uses for a while. */
export interface Loan {
  readonly connection: unknown;
  readonly statements: Statements;
  /** Waits for something that the database does, no longer than a call may take. */
  bounded<T>(work: Promise<T>): Promise<T>;
  /** Turns an error of the database into the one that callers are promised. */
  explain(error: unknown): Promise<unknown>;
}

/**
 * @param timeout - in milliseconds: how long a call waits for a connection and for locks before it throws `StorageError`
 * @param reader - a second connection that only reads, for as long as a transaction of the host has the one that there is
 */
export function createDatabase(
  pool: ConnectionPool,
  dialect: Dialect,
  timeout: number,
  reader?: () => Promise<Statements>,
): Database {
  const turns = dialect.name === 'sqlite' ? new LoanTurns(timeout) : undefined;

  async function patiently<T>(
    work: (statements: Statements, connection: unknown) => Promise<T>,
    longest: number = timeout,
    waited: number = longest,
  ): Promise<T> {
    return persist(async (left) => attempt(work, left), longest, waited);
  }

  /** @param waited - in milliseconds: what an error is to say */
  async function persist<T>(
    tryOnce: (left: number) => Promise<T>,
    longest: number,
    waited: number = longest,
  ): Promise<T> {
    const deadline = performance.now() + longest;
    let earlier: unknown;
    for (let tries = 0; ; tries += 1) {
      let pause: number;
      try {
        return await tryOnce(Math.max(deadline - performance.now(), 0));
      } catch (error) {
        const pauses = PAUSES[dialect.trouble(error)];
        pause = pauses ? Math.min(pauses.first * 2 ** tries, pauses.longest) : Infinity;
        if (performance.now() + pause >= deadline) {
          // The time ran out on the way to the next try; what made it necessary says more.
          const reason = isAcquireTimeout(error) ? (earlier ?? error) : error;
          throw await explain(reason, waited);
        }
        earlier = error;
      }
      // Those who wait for the same thing must not come back all at once.
      await delay(pause * (0.5 + Math.random()));
    }
  }

  async function attempt<T>(
    work: (statements: Statements, connection: unknown) => Promise<T>,
    longest: number,
  ): Promise<T> {
    const startedAt = performance.now();
    turns?.recordCall();
    return borrow(async (statements, connection) => {
      const left = Math.max(startedAt + longest - performance.now(), 0);
      return bounded(work(statements, connection), connection, left);
    }, longest);
  }

  /** One statement that changes nothing. */
  async function reading<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    if (!turns?.isLent || !reader) return patiently(work);
    return persist(async () => work(await reader()), timeout);
  }

  /** Waits until the transactions of the host that came before have ended. */
  function inTurn<T>(work: (left: number) => Promise<T>): (longest: number) => Promise<T> {
    return async (longest) => {
      if (!turns) return work(longest);
      const deadline = performance.now() + longest;
      const turn = await acquireConnection(turns, longest);
      try {
        return await work(Math.max(deadline - performance.now(), 0));
      } finally {
        turn.end();
      }
    };
  }

  async function borrow<T>(
    work: (statements: Statements, connection: unknown) => Promise<T>,
    longest: number,
  ): Promise<T> {
    const connection = pool.acquireIfFree?.() ?? (await acquireConnection(pool, longest));
    try {
      const statements = dialect.enter(connection);
      try {
        return await work(statements, connection);
      } finally {
        dialect.leave(connection);
      }
    } finally {
      await pool.releaseConnection(connection);
    }
  }

  async function bounded<T>(work: Promise<T>, connection: unknown, longest: number): Promise<T> {
    const { rescue } = dialect;
    return rescue ? rescued(work, connection, { longest, rescue }) : work;
  }

  async function explain(error: unknown, waited: number): Promise<unknown> {
    return explainError(error, { dialect, waited, findPending });
  }

  async function findPending(): Promise<readonly string[]> {
    try {
      return await attempt(async (statements) => findPendingMigrations(statements, dialect), timeout);
    } catch {
      // The database cannot be reached any more; the error that is being explained says enough.
      return [];
    }
  }

  async function transactAlone<T>(work: (statements: Statements) => Promise<T>, longest: number): Promise<T> {
    return patiently(async (statements, connection) => {
      await statements.run(dialect.begin);
      try {
        const result = await work(statements);
        await statements.run('commit');
        return result;
      } catch (error) {
        await dialect.rollback(connection);
        throw error;
      }
    }, longest);
  }

  // All who write wait for one connection, so that they may as well wait for one commit.
  const transactions: Transactions = pool.acquireIfFree
    ? createSharedCommit(dialect, { patiently, explain: async (error) => explain(error, timeout) })
    : { transact: transactAlone, async settled() {} };

  return {
    dialect,
    get: async (sql, values) => reading(async (statements) => statements.get(sql, values)),
    all: async (sql, values) => reading(async (statements) => statements.all(sql, values)),
    run: async (sql, values) => patiently(async (statements) => statements.run(sql, values)),
    connection: patiently,
    transaction: async (work, longest = timeout) => transactions.transact(work, longest),
    settled: async () => transactions.settled(),
    lend: async (work) =>
      persist(
        inTurn(async (longest) =>
          borrow(
            async (statements, connection) =>
              work({
                connection,
                statements,
                bounded: async (working) => bounded(working, connection, timeout),
                explain: async (error) => explain(error, timeout),
              }),
            longest,
          ),
        ),
        timeout,
      ),
  };
}
