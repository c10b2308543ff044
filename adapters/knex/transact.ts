import type { Knex } from 'knex';

import { StorageError } from '../../lib/errors.ts';
import type { Database, Loan } from './database.ts';
import type { Statements } from './statements.ts';

// Of the transactions under way.
const statementsOf = new WeakMap<object, Statements>();

/** The storage's own statements in a transaction that {@link transact} has handed to work that is still under way. */
export function statementsIn(transaction: unknown): Statements {
  const isObject =
    typeof transaction === 'function' || (typeof transaction === 'object' && transaction !== null);
  const statements = isObject ? statementsOf.get(transaction) : undefined;
  // The work may have ended it itself: what came now would be kept on its own.
  const isUnderWay = statements !== undefined && !(transaction as Knex.Transaction).isCompleted();
  if (!isUnderWay) throw new StorageError('This is not a transaction of the storage, or it has ended.');
  return statements;
}

type Outcome<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Runs a host's work in a transaction of Knex, on a connection of its pool.
 *
 * Left alone, Knex waits for a connection as long as its pool likes to, runs the work also when the transaction could not be
 * begun, and gives SQLite's connection back with the transaction still open when it could not be committed.
 */
export async function transact<T>(
  database: Database,
  knex: Knex,
  work: (transaction: Knex.Transaction) => Promise<T>,
): Promise<T> {
  const outcome = await database.lend(async (loan) => {
    try {
      return await run(loan, database, { knex, work });
    } finally {
      // Knex leaves it on a connection that it was given, and tells it with every later statement.
      delete (loan.connection as { __knexTxId?: string }).__knexTxId;
    }
  });
  if ('thrown' in outcome) throw outcome.thrown;
  return outcome.value;
}

async function run<T>(
  loan: Loan,
  { dialect }: Database,
  { knex, work }: { knex: Knex; work: (transaction: Knex.Transaction) => Promise<T> },
): Promise<Outcome<T>> {
  const { connection } = loan;
  const begun = Promise.withResolvers<void>();
  const worked = Promise.withResolvers<Outcome<T>>();
  let isTooLate = false;

  const ended = knex.transaction(
    async (transaction) => {
      if (dialect.lockForWriting !== undefined) await loan.statements.run(dialect.lockForWriting);
      if (isTooLate || transaction.isCompleted()) return;
      // From here on the host waits as its connection does.
      dialect.leave(connection);
      begun.resolve();
      statementsOf.set(transaction, loan.statements);
      try {
        worked.resolve({ value: await work(transaction) });
      } catch (thrown) {
        worked.resolve({ thrown });
        throw thrown;
      } finally {
        statementsOf.delete(transaction);
      }
    },
    { connection },
  );

  async function undo(): Promise<void> {
    // What went wrong first says more.
    await loan.bounded(dialect.rollback(connection)).catch(() => {});
  }

  try {
    await loan.bounded(Promise.race([begun.promise, ended]));
  } catch (error) {
    isTooLate = true;
    await undo();
    throw error;
  }
  const outcome = await worked.promise;
  try {
    await loan.bounded(ended);
    return outcome;
  } catch (error) {
    const isUndone = 'thrown' in outcome && outcome.thrown === error;
    if (!isUndone) await undo();
    return 'thrown' in outcome ? outcome : { thrown: await loan.explain(error) };
  }
}
