import { setTimeout as delay } from 'node:timers/promises';

import type { Milliseconds, StorageState } from '../../lib/contracts/index.ts';
import { acquireConnection, interruptAfter } from './bounded-waits.ts';
import type { ConnectionPool } from './bounded-waits.ts';
import type { Checkpoints } from './checkpoints.ts';
import type { Dialect } from './dialect.ts';
import { errorKind } from './error-kinds.ts';
import type { ErrorKind } from './error-kinds.ts';
import { storageErrorOf, isDiskFull } from './explain-error.ts';
import { createGroupCommit } from './group-commit.ts';
import type { TransactionWork } from './group-commit.ts';
import { createInTurn } from './in-turn.ts';
import type { InTurn } from './in-turn.ts';
import { findPendingMigrations } from './migrations.ts';
import type { Statements, Value } from '../../lib/database/statements.ts';
import { TransactionQueue } from './transaction-queue.ts';

// How long to wait before another try; doubled with each try. A writer holds SQLite's lock for microseconds, so
// the first delay is short. A server with too many connections needs longer.
const RETRY_DELAYS: {
  readonly [Kind in ErrorKind]?: { readonly first: Milliseconds; readonly longest: Milliseconds };
} = {
  contention: { first: 1, longest: 20 },
  'too many connections': { first: 100, longest: 400 },
  // On another connection, which may reach the primary when a standby has taken over.
  'read only': { first: 100, longest: 400 },
};

// After the last change that has failed.
const FAILING_FOR: Milliseconds = 60_000;

/** The database as the stores use it: each call acquires a connection of the pool and releases it. */
export interface Database extends Statements {
  readonly dialect: Dialect;
  /** As in `StorageState`. */
  readonly failing: StorageState['failing'];
  /** Runs one statement that changes rows and returns them, never on a read-only connection. */
  returning<Row>(sql: string, values: readonly Value[]): Promise<Row[]>;
  /** Runs several statements on one connection, without a transaction. */
  connection<T>(work: (statements: Statements) => Promise<T>): Promise<T>;
  /**
   * Runs `work` in a transaction, which is rolled back when `work` throws. A retry runs `work` again, so it does nothing
   * but call its statements.
   *
   * @param timeout - instead of the database's own
   */
  transaction<T>(work: (statements: Statements) => Promise<T>, timeout?: Milliseconds): Promise<T>;
  readonly inTurn: InTurn;
  /** As in `Storage`. */
  confirm(): Promise<void>;
  /** Resolves when no transaction is waiting or under way. */
  settled(): Promise<void>;
  /** Hands `work` a connection for a transaction of the host. On SQLite one `work` runs at a time. */
  withConnection<T>(work: QueryWork<T>): Promise<T>;
  /** Waits for work on a connection of the host's, for no longer than the storage's timeout. */
  bounded<T>(work: Promise<T>, connection: unknown): Promise<T>;
  /** Turns an error of the driver or the pool into a `GatehouseError`. */
  explain(error: unknown): Promise<unknown>;
}

type QueryWork<T> = (statements: Statements, connection: unknown) => Promise<T>;

/** Runs work once, within `longest` milliseconds. */
type RunWork = <T>(work: QueryWork<T>, longest: Milliseconds) => Promise<T>;

/**
 * @param timeout - how long a call waits for a connection and for locks before it throws `StorageError`
 * @param options.reader - a second, read-only connection, used while a transaction of the host has the single one
 */
export function createDatabase(
  pool: ConnectionPool,
  dialect: Dialect,
  timeout: Milliseconds,
  { reader, checkpoints }: { readonly reader?: () => Statements; readonly checkpoints?: Checkpoints } = {},
): Database {
  const { interruption } = dialect;
  let failure: { readonly reason: StorageState['failing']; readonly at: Milliseconds } | undefined;
  const queue = dialect.name === 'sqlite' ? new TransactionQueue(timeout) : undefined;

  /**
   * Runs work again for as long as another try may succeed, and for no longer than `longest` milliseconds.
   *
   * @param waited - the time that the error's message names
   */
  async function withRetries<T>(
    work: QueryWork<T>,
    longest: Milliseconds = timeout,
    {
      attempt = borrow,
      waited = longest,
    }: { readonly attempt?: RunWork; readonly waited?: Milliseconds } = {},
  ): Promise<T> {
    const deadline = performance.now() + longest;
    let earlier: unknown;
    for (let tries = 0; ; tries += 1) {
      let pause: Milliseconds;
      try {
        return await attempt(work, Math.max(deadline - performance.now(), 0));
      } catch (error) {
        const kind = errorKind(error);
        const delays = RETRY_DELAYS[kind];
        pause = delays ? Math.min(delays.first * 2 ** tries, delays.longest) : Infinity;
        if (performance.now() + pause >= deadline) {
          // When the time ran out during the wait for a connection, the error that made this try necessary says more.
          throw await explain(kind === 'no connection' ? (earlier ?? error) : error, waited);
        }
        earlier = error;
      }
      // At random, so that callers that wait for the same lock do not all try at the same moment.
      await delay(pause * (0.5 + Math.random()));
    }
  }

  /** Runs one statement that only reads. */
  async function reading<T>(work: QueryWork<T>): Promise<T> {
    if (!queue?.isActive || !reader) return withRetries(work);
    return withRetries(work, timeout, { attempt: async (read) => read(reader(), undefined) });
  }

  /**
   * Runs work on a connection of the pool. Work of this storage is interrupted after `longest` milliseconds, those for the
   * connection included.
   */
  async function borrow<T>(work: QueryWork<T>, longest: Milliseconds, isOfHost = false): Promise<T> {
    const deadline = performance.now() + longest;
    if (queue && !isOfHost) queue.calls += 1;
    const connection = pool.acquireIfFree?.() ?? (await acquireConnection(pool, longest));
    try {
      const statements = dialect.enter(connection);
      try {
        const working = work(statements, connection);
        if (isOfHost || !interruption) return await working;
        return await bounded(working, connection, Math.max(deadline - performance.now(), 0));
      } catch (error) {
        // The server that the connection has reached does not become the primary by waiting.
        if (errorKind(error) === 'read only') await interruption?.abandon(connection);
        throw error;
      } finally {
        dialect.leave?.(connection);
      }
    } finally {
      const released = pool.releaseConnection(connection);
      if (released) await released;
    }
  }

  /** Runs a transaction of the host, one after the other where these have a queue. */
  async function borrowForHost<T>(work: QueryWork<T>, longest: Milliseconds): Promise<T> {
    if (!queue) return borrow(work, longest, true);
    const deadline = performance.now() + longest;
    await acquireConnection(queue, longest);
    try {
      return await borrow(work, Math.max(deadline - performance.now(), 0), true);
    } finally {
      queue.releaseConnection();
    }
  }

  async function bounded<T>(work: Promise<T>, connection: unknown, longest = timeout): Promise<T> {
    return interruption ? interruptAfter(work, connection, { longest, interruption }) : work;
  }

  async function explain(error: unknown, waited = timeout): Promise<unknown> {
    const isLocked = dialect.name === 'sqlite' && errorKind(error) === 'contention';
    const reason = isDiskFull(error) ? 'disk_full' : isLocked ? 'database_locked' : undefined;
    if (reason) failure = { reason, at: performance.now() };
    return storageErrorOf(error, waited, findPending);
  }

  /** Empty when the database cannot be reached any more: the caller gets the first error, which says so. */
  async function findPending(): Promise<readonly string[]> {
    return borrow(async (statements) => findPendingMigrations(statements), timeout).catch(() => []);
  }

  /** Waits until the changes that the statements can see last, although they have changed nothing. */
  async function confirmIn(statements: Statements): Promise<void> {
    if (dialect.confirmation !== undefined) await statements.get(dialect.confirmation);
  }

  /** Turns the work of a transaction into work that runs it alone on a connection. */
  function alone<T>(work: TransactionWork<T>): QueryWork<T> {
    return async (statements, connection) => {
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
    };
  }

  async function runAlone(sql: string, values?: readonly Value[]): Promise<number> {
    return withRetries(async (statements) => {
      const changed = await statements.run(sql, values);
      // The caller may rely on what another call has changed. That call may still wait, or have failed to wait.
      if (changed === 0) await confirmIn(statements);
      return changed;
    });
  }

  // With a single connection, changes wait for each other anyway, so they share commits.
  const group = pool.isSole ? createGroupCommit(dialect, { withRetries, explain, checkpoints }) : undefined;

  async function transaction<T>(work: TransactionWork<T>, longest: Milliseconds = timeout): Promise<T> {
    return group ? group.transact(work, longest) : withRetries(alone(work), longest);
  }

  return {
    dialect,
    get failing() {
      return failure && performance.now() - failure.at < FAILING_FOR ? failure.reason : undefined;
    },
    get: async (sql, values) => reading(async (statements) => statements.get(sql, values)),
    all: async (sql, values) => reading(async (statements) => statements.all(sql, values)),
    run: async (sql, values) =>
      group
        ? group.transact(async (statements) => statements.run(sql, values), timeout)
        : runAlone(sql, values),
    returning: async <Row>(sql: string, values: readonly Value[]) => {
      const change = async (statements: Statements): Promise<Row[]> => statements.all<Row>(sql, values);
      return group ? group.transact(change, timeout) : withRetries(change);
    },
    connection: async (work) => withRetries(work),
    transaction,
    inTurn: createInTurn(dialect, { withRetries, alone, transaction }),
    confirm: async () => withRetries(confirmIn),
    settled: async () => group?.settled(),
    async withConnection(work) {
      const result = await withRetries(work, timeout, { attempt: borrowForHost });
      checkpoints?.committed();
      return result;
    },
    bounded,
    explain,
  };
}
