import { StorageError } from '../errors.ts';
import type { OpenDatabase } from './create-database.ts';
import { errorKind } from './error-kinds.ts';
import type { SqlConnection } from './port.ts';
import type { Statements } from './statements.ts';

/** A statement of the storage in a transaction of a host. It throws a `GatehouseError`. */
type JoinedStatements = Pick<Statements, 'run'>;

// The key is the object that the work gets; the entry stays for as long as the work runs.
const joined = new WeakMap<
  object,
  { readonly statements: JoinedStatements; readonly hasEnded: () => boolean }
>();

/**
 * The storage's own statements in a transaction of {@link transact} whose work is still running.
 *
 * @throws StorageError for any other value, and for a transaction that has ended
 */
export function statementsIn(transaction: unknown): JoinedStatements {
  const isObject =
    typeof transaction === 'function' || (typeof transaction === 'object' && transaction !== null);
  const found = isObject ? joined.get(transaction) : undefined;
  // The work may have committed or rolled back itself; a later statement would then be committed on its own.
  if (!found || found.hasEnded())
    throw new StorageError('This is not a transaction of the storage, or it has ended.');
  return found.statements;
}

type TransactionOutcome<T> = { readonly value: T } | { readonly thrown: unknown };

/**
 * Runs a host's work in a transaction, on a connection that is acquired here.
 *
 * `knex.transaction()` alone would wait for a connection as long as the pool's own timeout, run the work also when `begin`
 * failed, and release SQLite's connection with the transaction still open when the commit failed.
 *
 * @param work - gets the library's object of the transaction, or the connection itself
 */
export async function transact<T>(
  database: OpenDatabase,
  work: (transaction: object) => Promise<T>,
): Promise<T> {
  const outcome = await database.withConnection(async (statements, connection) =>
    run(database, statements, connection, work),
  );
  if ('thrown' in outcome) throw outcome.thrown;
  return outcome.value;
}

async function run<T>(
  database: OpenDatabase,
  statements: Statements,
  connection: SqlConnection,
  work: (transaction: object) => Promise<T>,
): Promise<TransactionOutcome<T>> {
  const { dialect } = database;
  const begun = Promise.withResolvers<void>();
  const worked = Promise.withResolvers<TransactionOutcome<T>>();
  let isTooLate = false;

  const explained: JoinedStatements = {
    run: async (sql, values) =>
      statements.run(sql, values).catch(async (error: unknown) => {
        throw await database.explain(error);
      }),
  };

  async function inTransaction(transaction: object, hasEnded: () => boolean): Promise<void> {
    if (isTooLate || hasEnded()) throw new StorageError('The transaction has ended before its work began.');
    begun.resolve();
    joined.set(transaction, { statements: explained, hasEnded });
    try {
      worked.resolve({ value: await work(transaction) });
    } catch (thrown) {
      worked.resolve({ thrown });
      throw thrown;
    } finally {
      joined.delete(transaction);
    }
  }

  async function beforeCommit(): Promise<void> {
    await dialect.requireLive?.(statements);
  }

  async function alone(): Promise<void> {
    await statements.run(dialect.begin);
    await inTransaction(connection.native, () => connection.inTransaction?.() === false);
    await beforeCommit();
    await statements.run('commit');
  }

  const ended: Promise<void> = connection.begin ? connection.begin(inTransaction, beforeCommit) : alone();

  async function undo(): Promise<void> {
    // The caller gets the first error, not the one of the rollback.
    await database.bounded(database.rollback(connection), connection).catch(() => {});
  }

  try {
    await database.bounded(Promise.race([begun.promise, ended]), connection);
  } catch (error) {
    isTooLate = true;
    await undo();
    throw error;
  }
  const outcome = await worked.promise;
  if ('thrown' in outcome && errorKind(outcome.thrown) === 'read only') database.abandon(connection);
  try {
    await database.bounded(ended, connection);
    return outcome;
  } catch (error) {
    // The library has already rolled back the transaction in which the work has thrown.
    const isUndone = connection.begin !== undefined && 'thrown' in outcome && outcome.thrown === error;
    if (!isUndone) await undo();
    return 'thrown' in outcome ? outcome : { thrown: await database.explain(error) };
  }
}
