import type { Knex } from 'knex';

import { StorageError } from '../../lib/errors.ts';
import type { Database } from './database.ts';
import type { Dialect } from './dialect.ts';
import { errorKind } from './error-kinds.ts';
import type { Statements } from '../../lib/database/statements.ts';

// By the Knex transaction, for as long as its work runs.
const statementsByTransaction = new WeakMap<object, Statements>();

/**
 * The storage's own statements in a transaction of {@link transact} whose work is still running.
 *
 * @throws StorageError for any other value, and for a transaction that has ended
 */
export function statementsIn(transaction: unknown): Statements {
  const isObject =
    typeof transaction === 'function' || (typeof transaction === 'object' && transaction !== null);
  const statements = isObject ? statementsByTransaction.get(transaction) : undefined;
  // The work may have committed or rolled back itself; a later statement would then be committed on its own.
  const isUnderWay = statements !== undefined && !(transaction as Knex.Transaction).isCompleted();
  if (!isUnderWay) throw new StorageError('This is not a transaction of the storage, or it has ended.');
  return statements;
}

type TransactionOutcome<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Runs a host's work in a transaction of Knex, on a connection that is acquired here.
 *
 * `knex.transaction()` alone would wait for a connection as long as the pool's own timeout, run the work also when `begin`
 * failed, and release SQLite's connection with the transaction still open when the commit failed.
 */
export async function transact<T>(
  database: Database,
  knex: Knex,
  work: (transaction: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const outcome = await database.withConnection(async (statements, connection) => {
    try {
      return await run(database, statements, connection, { knex, work });
    } finally {
      // Knex does not remove its transaction id from a connection that was passed in, and reports the id with every later
      // statement.
      delete (connection as { __knexTxId?: string }).__knexTxId;
    }
  });
  if ('thrown' in outcome) throw outcome.thrown;
  return outcome.value;
}

/**
 * Makes the commit of a transaction fail that the server has rolled back, or will: it reports the commit as done where the work has
 * caught the error of a statement and gone on, on PostgreSQL any, on MariaDB that of a deadlock.
 */
function refuseToRollBackAtCommit(
  transaction: Knex.Transaction,
  { requireLive }: Dialect,
  statements: Statements,
): void {
  if (!requireLive) return;
  const commit = transaction.commit.bind(transaction);
  async function commitIfLive(value: unknown): Promise<unknown> {
    await requireLive!(statements);
    return commit(value);
  }
  // Knex calls it too, when the work is done. Its type says that it is a query, which it is not.
  transaction.commit = commitIfLive as typeof commit;
}

async function run<T>(
  database: Database,
  statements: Statements,
  connection: unknown,
  { knex, work }: { knex: Knex; work: (transaction: Knex.Transaction) => Promise<T> },
): Promise<TransactionOutcome<T>> {
  const { dialect } = database;
  const begun = Promise.withResolvers<void>();
  const worked = Promise.withResolvers<TransactionOutcome<T>>();
  let isTooLate = false;

  const ended = knex.transaction(
    async (transaction) => {
      if (dialect.lockForWriting !== undefined) await statements.run(dialect.lockForWriting);
      if (isTooLate || transaction.isCompleted()) return;
      // The host's statements run with the connection's own settings, such as `busy_timeout`.
      dialect.leave?.(connection);
      refuseToRollBackAtCommit(transaction, dialect, statements);
      begun.resolve();
      statementsByTransaction.set(transaction, statements);
      try {
        worked.resolve({ value: await work(transaction) });
      } catch (thrown) {
        worked.resolve({ thrown });
        throw thrown;
      } finally {
        statementsByTransaction.delete(transaction);
      }
    },
    { connection },
  );

  async function undo(): Promise<void> {
    // The caller gets the first error, not the one of the rollback.
    await database.bounded(dialect.rollback(connection), connection).catch(() => {});
  }

  try {
    await database.bounded(Promise.race([begun.promise, ended]), connection);
  } catch (error) {
    isTooLate = true;
    await undo();
    throw error;
  }
  const outcome = await worked.promise;
  if ('thrown' in outcome && errorKind(outcome.thrown) === 'read only') {
    await dialect.interruption?.abandon(connection);
  }
  try {
    await database.bounded(ended, connection);
    return outcome;
  } catch (error) {
    const isUndone = 'thrown' in outcome && outcome.thrown === error;
    if (!isUndone) await undo();
    return 'thrown' in outcome ? outcome : { thrown: await database.explain(error) };
  }
}
