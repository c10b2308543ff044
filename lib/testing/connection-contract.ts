import { createDatabase } from '../database/create-database.ts';
import { migrate } from '../database/migrate.ts';
import type { SqlDatabase } from '../database/port.ts';
import { limitContract } from './connection/limits.ts';
import { statementContract } from './connection/statements.ts';
import { hostContract, transactionContract } from './connection/transactions.ts';
import { TABLE } from './connection/under-test.ts';
import type { ConnectionTest } from './connection/under-test.ts';
import type { RegisterTest } from './test-runner.ts';

// In milliseconds. A hundred calls at once may wait for few connections.
const PATIENT = 30_000;

/**
 * Registers the tests that a connection of your own to a database has to pass before it is given to `sqlStorage()`: what is isolated,
 * which rows count as changed, which errors are recognized, which time limits hold, and that nothing is reported as stored that is not.
 *
 * The tests make the tables of the storage, where they are missing, and each makes and drops a table `gatehouse_contract`, so that they may
 * run on one database in turn.
 *
 * @param open - opens the database for one test, and is called once in each. The suite closes it.
 *
 * @example
 * import test from 'ava';
 * import { connectionContract } from 'koa-gatehouse/testing';
 * connectionContract(test.serial, () => myDatabase());
 */
export function connectionContract(test: RegisterTest, open: () => SqlDatabase | Promise<SqlDatabase>): void {
  const onDatabase: ConnectionTest = (title, run) => {
    test(title, async (t) => {
      const source = await open();
      const database = createDatabase(source, PATIENT);
      t.teardown(async () => {
        await database.run(`drop table if exists ${TABLE}`);
        await database.settled();
        await source.close();
      });
      const { id, integer, text } = database.dialect.types;
      await migrate(database);
      await database.run(`drop table if exists ${TABLE}`);
      await database.run(
        `create table ${TABLE} (id ${id} not null primary key, note ${text}, n ${integer} not null)${database.dialect.tableOptions}`,
      );
      await run(t, { source, database });
    });
  };

  statementContract(onDatabase);
  transactionContract(onDatabase);
  hostContract(onDatabase);
  limitContract(onDatabase);
}
