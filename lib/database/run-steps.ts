import { StorageError } from '../errors.ts';
import type { Database } from './database.ts';
import type { Dialect } from './dialect.ts';
import { compoundStatement, readAnswer } from './dialects/compound-statement.ts';
import type { TransactionWork } from './group-commit.ts';
import type { SqlConnection } from './port.ts';
import type { Statements, Step, Value } from './statements.ts';

type Row = Readonly<Record<string, Value>>;

/** Work on a connection that it has for itself. */
export type ConnectionWork<T> = (statements: Statements, connection: SqlConnection) => Promise<T>;

/** Thrown inside a transaction of steps, so that it is rolled back. */
const UNMET = new StorageError('A step of a transaction has not changed or found a row.');

/**
 * Makes `Database.runSteps`.
 *
 * @param options.withRetries - runs work on a connection of the pool
 * @param options.alone - turns the work of a transaction into work that runs it alone on a connection
 * @param options.transaction - runs a transaction, perhaps together with others
 */
export function createRunSteps(
  { hasCompoundStatements }: Dialect,
  {
    rollback,
    withRetries,
    alone,
    transaction,
  }: {
    rollback: (connection: SqlConnection) => Promise<void>;
    withRetries: <T>(work: ConnectionWork<T>) => Promise<T>;
    alone: <T>(work: TransactionWork<T>) => ConnectionWork<T>;
    transaction: <T>(work: TransactionWork<T>) => Promise<T>;
  },
): Database['runSteps'] {
  async function run(steps: readonly Step[]): Promise<Row | undefined> {
    const oneByOne = async (statements: Statements) => runOneByOne(statements, steps);
    if (!hasCompoundStatements) return transaction(oneByOne);
    return withRetries(async (statements, connection) => {
      if (!(await hasCompoundStatements(connection))) return alone(oneByOne)(statements, connection);
      const { sql, values } = compoundStatement(steps);
      try {
        return readAnswer(await statements.all<readonly Row[]>(sql, values));
      } catch (error) {
        await rollback(connection);
        throw error;
      }
    });
  }

  return async <Found extends object>(steps: readonly Step[]) => {
    try {
      return (await run(steps)) as Found | undefined;
    } catch (error) {
      if (error !== UNMET) throw error;
      return undefined;
    }
  };
}

/** @throws UNMET, unless nothing has been changed yet */
async function runOneByOne(statements: Statements, steps: readonly Step[]): Promise<Row | undefined> {
  let found: Row = {};
  for (const [index, { sql, values, needs, skipIf }] of steps.entries()) {
    if (skipIf?.(found)) continue;
    if (needs === 'row') {
      const row = await statements.get<Row>(sql, values);
      found = row ?? found;
      if (row) continue;
    } else {
      const changed = await statements.run(sql, values);
      if (changed > 0 || !needs) continue;
    }
    if (index === 0) return undefined;
    throw UNMET;
  }
  return found;
}
