import { DatabaseSync } from 'node:sqlite';

import test from '../../harness/test.ts';
import Database from 'better-sqlite3';
import { connectionContract } from 'koa-gatehouse/testing';
import { Kysely, MysqlDialect, PostgresDialect } from 'kysely';
import mysql from 'mysql2';
import promiseMysql from 'mysql2/promise';
import pg from 'pg';

import { betterSqlite3Database } from '../../../adapters/drivers/better-sqlite3.ts';
import { mysql2Database } from '../../../adapters/drivers/mysql2.ts';
import { nodeSqliteDatabase } from '../../../adapters/drivers/node-sqlite.ts';
import { pgDatabase } from '../../../adapters/drivers/pg.ts';
import { knexDatabase } from '../../../adapters/knex/knex-database.ts';
import { openDatabase } from '../../../adapters/knex/open-database.ts';
import { kyselyDatabase } from '../../../examples/kysely.ts';
import type { SqlDatabase } from '../../../lib/database/port.ts';
import { mariadb, postgresql, sqlite } from '../../adapters/databases.ts';
import type { TestDatabase } from '../../adapters/databases.ts';
import { connectHost } from '../../adapters/host-knex.ts';
import { temporaryFile } from '../../adapters/temporary-file.ts';

function onDatabase(
  { cleared, name, register }: TestDatabase,
  library: string,
  open: (address: string) => SqlDatabase,
): void {
  connectionContract(
    (title, run) => register(`${name}, ${library}: ${title}`, run),
    async () => open(await cleared()),
  );
}

/** What else is closed with the storage. */
function closing(database: SqlDatabase, close: () => Promise<unknown>): SqlDatabase {
  return {
    ...database,
    async close() {
      await database.close();
      await close();
    },
  };
}

for (const database of [sqlite, postgresql, mariadb]) {
  onDatabase(database, 'an address', (address) => openDatabase(address, 30_000));
  onDatabase(database, 'Knex', (address) => {
    const host = connectHost(database.client, address);
    return closing(knexDatabase(host, { shared: true }), async () => host.destroy());
  });
}

onDatabase(postgresql, 'pg', (address) => {
  const pool = new pg.Pool({ connectionString: address });
  return closing(pgDatabase(pool as never), async () => pool.end());
});

onDatabase(mariadb, 'mysql2', (address) => {
  const pool = mysql.createPool(address);
  return closing(mysql2Database(pool), async () => pool.promise().end());
});

onDatabase(mariadb, 'mysql2/promise', (address) => {
  const pool = promiseMysql.createPool(address);
  return closing(mysql2Database(pool), async () => pool.end());
});

onDatabase(postgresql, 'Kysely', (address) => {
  const db = new Kysely({
    dialect: new PostgresDialect({ pool: new pg.Pool({ connectionString: address }) }),
  });
  return closing(kyselyDatabase(db, 'postgresql'), async () => db.destroy());
});

onDatabase(mariadb, 'Kysely', (address) => {
  const db = new Kysely({ dialect: new MysqlDialect({ pool: mysql.createPool(address) }) });
  return closing(kyselyDatabase(db, 'mysql'), async () => db.destroy());
});

for (const filename of [':memory:', temporaryFile()]) {
  const where = filename === ':memory:' ? 'in memory' : 'on a file';
  const runSteps = filename === ':memory:' ? test : test.serial;
  connectionContract(
    (title, run) => runSteps(`better-sqlite3 ${where}: ${title}`, run),
    () => {
      const file = new Database(filename);
      return closing(betterSqlite3Database(file), async () => file.close());
    },
  );
  connectionContract(
    (title, run) => runSteps(`node:sqlite ${where}: ${title}`, run),
    () => {
      const file = new DatabaseSync(filename);
      return closing(nodeSqliteDatabase(file), async () => file.close());
    },
  );
}
