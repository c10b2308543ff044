import { setTimeout as delay } from 'node:timers/promises';

import type { Milliseconds, StorageState } from '../contracts/index.ts';
import { StorageError } from '../errors.ts';
import { connectWithin, interruptAfter } from './bounded-waits.ts';
import type { Database } from './database.ts';
import type { Dialect } from './dialect.ts';
import { mysqlDialect } from './dialects/mysql.ts';
import { postgresqlDialect } from './dialects/postgresql.ts';
import { sqliteDialect } from './dialects/sqlite.ts';
import { errorKind } from './error-kinds.ts';
import type { ErrorKind } from './error-kinds.ts';
import { isDiskFull, storageErrorOf } from './explain-error.ts';
import { createGroupCommit } from './group-commit.ts';
import type { TransactionWork } from './group-commit.ts';
import { createRunSteps } from './run-steps.ts';
import type { ConnectionWork } from './run-steps.ts';
import { findPendingMigrations } from './migrations.ts';
import type { SqlConnection, SqlDatabase } from './port.ts';
import type { Statements, Value } from './statements.ts';
import { TransactionQueue } from './transaction-queue.ts';
import { Turn } from './turn.ts';

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

// How long `failing` is reported after the last change that has failed.
const FAILING_FOR: Milliseconds = 60_000;

/** The open database, as `createStorage()` and `transact()` use it. */
export interface OpenDatabase extends Database {
  /** Resolves when no transaction is waiting or under way. */
  settled(): Promise<void>;
  /** Hands `work` a connection for a transaction of the host. On SQLite one `work` runs at a time. */
  withConnection<T>(work: ConnectionWork<T>): Promise<T>;
  /** Waits for work on a connection of the host's, for no longer than the storage's timeout. */
  bounded<T>(work: Promise<T>, connection: SqlConnection): Promise<T>;
  /** Rolls back. When that fails, the connection is closed, and the server rolls back. */
  rollback(connection: SqlConnection): Promise<void>;
  /** Closes a connection when it is given back. */
  abandon(connection: SqlConnection): void;
  /** Turns an error of the driver or the pool into a `GatehouseError`. */
  explain(error: unknown): Promise<unknown>;
}

/** Runs work once, within `longest` milliseconds. */
type RunWork = <T>(work: ConnectionWork<T>, longest: Milliseconds) => Promise<T>;

/** SQLite's connection, which is kept. */
interface SoleConnection {
  readonly connection: SqlConnection;
  readonly statements: Statements;
}

const DIALECTS = { sqlite: sqliteDialect, postgresql: postgresqlDialect, mysql: mysqlDialect } as const;

/** @param timeout - how long a call waits for a connection and for locks before it throws `StorageError` */
export function createDatabase(source: SqlDatabase, timeout: Milliseconds): OpenDatabase {
  const dialect: Dialect = DIALECTS[source.dialect]();
  const isFile = dialect.name === 'sqlite';
  let failure: { readonly reason: StorageState['failing']; readonly at: Milliseconds } | undefined;
  const queue = isFile ? new TransactionQueue(timeout) : undefined;
  // Where the host's pool has the only connection, calls wait in that pool.
  const turn = isFile && !source.shared ? new Turn() : undefined;
  let sole: SoleConnection | undefined;
  const broken = new WeakSet<SqlConnection>();

  /**
   * Runs work again for as long as another try may succeed, and for no longer than `longest` milliseconds.
   *
   * @param waited - the time that the error's message names
   */
  async function withRetries<T>(
    work: ConnectionWork<T>,
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
  async function reading<T>(work: ConnectionWork<T>): Promise<T> {
    const { reader } = source;
    if (!queue?.isActive || !reader) return withRetries(work);
    return withRetries(work, timeout, {
      attempt: async (read, longest) => {
        const connection = reader();
        return read(dialect.enter(connection, longest), connection);
      },
    });
  }

  /**
   * Runs work on a connection of the pool. Work of this storage is interrupted after `longest` milliseconds, which include the wait for
   * the connection.
   */
  async function borrow<T>(work: ConnectionWork<T>, longest: Milliseconds, isOfHost = false): Promise<T> {
    const deadline = performance.now() + longest;
    if (queue && !isOfHost) queue.calls += 1;
    if (turn && !turn.takeIfFree()) await connectWithin(turn.take(), longest);
    let connection: SqlConnection | undefined;
    try {
      if (turn) {
        sole ??= await enterSole();
        return await work(sole.statements, sole.connection);
      }
      const connecting = source.connect();
      connection = connecting instanceof Promise ? await connectWithin(connecting, longest) : connecting;
      const left = Math.max(deadline - performance.now(), 0);
      const statements = dialect.enter(connection, isOfHost ? Infinity : Math.max(left, 1));
      const working = work(statements, connection);
      return await (isOfHost || isFile ? working : bounded(working, connection, left));
    } catch (error) {
      // The server that the connection has reached does not become the primary by waiting.
      if (connection && errorKind(error) === 'read only') broken.add(connection);
      throw error;
    } finally {
      turn?.release();
      const released = connection?.release(broken.has(connection));
      if (released) await released;
    }
  }

  async function enterSole(): Promise<SoleConnection> {
    const connection = await source.connect();
    return { connection, statements: dialect.enter(connection, Infinity) };
  }

  /** Runs a transaction of the host. On SQLite a queue runs them one after the other. */
  async function borrowForHost<T>(work: ConnectionWork<T>, longest: Milliseconds): Promise<T> {
    if (!queue) return borrow(work, longest, true);
    const deadline = performance.now() + longest;
    await connectWithin(queue.take(), longest);
    try {
      return await borrow(work, Math.max(deadline - performance.now(), 0), true);
    } finally {
      queue.release();
    }
  }

  async function bounded<T>(work: Promise<T>, connection: SqlConnection, longest = timeout): Promise<T> {
    if (isFile) return work;
    return interruptAfter(work, connection, { longest, onInterrupt: () => broken.add(connection) });
  }

  async function rollback(connection: SqlConnection): Promise<void> {
    await dialect.rollback(connection).catch(() => broken.add(connection));
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

  /** Waits until the changes that the statements can see are sure to last, although the statements have changed nothing themselves. */
  async function confirmIn(statements: Statements): Promise<void> {
    if (dialect.confirmation !== undefined) await statements.get(dialect.confirmation);
  }

  /** Turns the work of a transaction into work that runs it alone on a connection. */
  function alone<T>(work: TransactionWork<T>): ConnectionWork<T> {
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
        await rollback(connection);
        throw error;
      }
    };
  }

  async function runAlone(sql: string, values?: readonly Value[]): Promise<number> {
    return withRetries(async (statements) => {
      const changed = await statements.run(sql, values);
      // The caller may rely on the change of another call, which may still be waiting for the standby, or have failed to wait.
      if (changed === 0) await confirmIn(statements);
      return changed;
    });
  }

  // With a single connection, changes wait for each other anyway, so they share commits.
  const group = turn
    ? createGroupCommit({ begin: dialect.begin, rollback, withRetries, explain })
    : undefined;

  async function transaction<T>(work: TransactionWork<T>, longest: Milliseconds = timeout): Promise<T> {
    return group ? group.transact(work, longest) : withRetries(alone(work), longest);
  }

  async function run(sql: string, values?: readonly Value[]): Promise<number> {
    return group
      ? group.transact(async (statements) => statements.run(sql, values), timeout)
      : runAlone(sql, values);
  }

  return {
    dialect,
    get failing() {
      return failure && performance.now() - failure.at < FAILING_FOR ? failure.reason : undefined;
    },
    get: async (sql, values) => reading(async (statements) => statements.get(sql, values)),
    all: async (sql, values) => reading(async (statements) => statements.all(sql, values)),
    run,
    returning: async <Row>(sql: string, values: readonly Value[]) => {
      const change = async (statements: Statements): Promise<Row[]> => statements.all<Row>(sql, values);
      return group ? group.transact(change, timeout) : withRetries(change);
    },
    connection: async (work) => withRetries(work),
    transaction,
    runSteps: createRunSteps(dialect, { rollback, withRetries, alone, transaction }),
    async insertUnlessStored(insert, values) {
      if (dialect.countsConflicts) return (await run(`${insert} on conflict do nothing`, values)) > 0;
      try {
        await run(insert, values);
        return true;
      } catch (error) {
        if (error instanceof StorageError && errorKind(error.cause) === 'duplicate key') return false;
        throw error;
      }
    },
    confirm: async () => withRetries(confirmIn),
    settled: async () => group?.settled(),
    withConnection: async (work) => withRetries(work, timeout, { attempt: borrowForHost }),
    bounded,
    rollback,
    abandon: (connection) => void broken.add(connection),
    explain,
  };
}
