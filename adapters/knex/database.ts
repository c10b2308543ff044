import { setTimeout as delay } from 'node:timers/promises';

import { acquireConnection } from './acquire-connection.ts';
import type { ConnectionPool } from './acquire-connection.ts';
import type { Dialect } from './dialect.ts';
import { explainError } from './explain-error.ts';
import { findPendingMigrations } from './pending-migrations.ts';
import type { Statements } from './statements.ts';

// In milliseconds. Writers hold SQLite's lock for some microseconds, so the first pause is short.
const FIRST_PAUSE = 1;
const LONGEST_PAUSE = 20;

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
}

/**
 * @param timeout - in milliseconds: how long a call waits for a connection and for locks before it throws `StorageError`
 */
export function createDatabase(pool: ConnectionPool, dialect: Dialect, timeout: number): Database {
  async function patiently<T>(
    work: (statements: Statements, connection: unknown) => Promise<T>,
    longest: number = timeout,
  ): Promise<T> {
    const deadline = performance.now() + longest;
    for (let pause = FIRST_PAUSE; ; pause = Math.min(pause * 2, LONGEST_PAUSE)) {
      try {
        return await attempt(work, Math.max(deadline - performance.now(), 0));
      } catch (error) {
        const again = dialect.trouble(error) === 'contention' && performance.now() + pause < deadline;
        if (!again) throw await explain(error, longest);
      }
      // Those who wait for the same lock must not come back all at once.
      await delay(pause * (0.5 + Math.random()));
    }
  }

  async function attempt<T>(
    work: (statements: Statements, connection: unknown) => Promise<T>,
    longest: number,
  ): Promise<T> {
    const connection = await acquireConnection(pool, longest);
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

  return {
    dialect,
    get: async (sql, values) => patiently(async (statements) => statements.get(sql, values)),
    all: async (sql, values) => patiently(async (statements) => statements.all(sql, values)),
    run: async (sql, values) => patiently(async (statements) => statements.run(sql, values)),
    connection: patiently,
    transaction: async (work, longest) =>
      patiently(async (statements, connection) => {
        await statements.run(dialect.begin);
        try {
          const result = await work(statements);
          await statements.run('commit');
          return result;
        } catch (error) {
          await dialect.rollback(connection);
          throw error;
        }
      }, longest),
  };
}
