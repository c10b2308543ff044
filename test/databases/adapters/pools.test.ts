import { DatabaseSync } from 'node:sqlite';

import test from '../../harness/test.ts';
import Database from 'better-sqlite3';
import type { Storage } from 'koa-gatehouse';
import { sqlStorage } from 'koa-gatehouse/adapters/sql';
import mysql from 'mysql2/promise';
import pg from 'pg';

import { storageContract } from '../../storage/storage-contract.ts';
import { mariadb, postgresql } from '../../adapters/databases.ts';
import { isRace, nodesInTurn } from '../../adapters/nodes-in-turn.ts';
import { PATIENT, serverContract } from '../../adapters/server-contract.ts';

for (const [name, Sqlite] of [
  ['better-sqlite3', Database],
  ['node:sqlite', DatabaseSync],
] as const) {
  storageContract(
    (title, run) => test(`${name}: ${title}`, run),
    () => sqlStorage(new Sqlite(':memory:'), PATIENT),
  );
}

/** A storage on a pool, which is ended with it. */
function owning(pool: { end(): Promise<unknown> }, storage: Storage): Storage {
  return {
    ...storage,
    async close() {
      await storage.close();
      await pool.end();
    },
  };
}

function onPg(address: string, options: pg.PoolConfig = {}): Storage {
  const pool = new pg.Pool({ connectionString: address, ...options });
  return owning(pool, sqlStorage(pool, PATIENT));
}

function onMysql2(address: string): Storage {
  const pool = mysql.createPool(address);
  return owning(pool, sqlStorage(pool, PATIENT));
}

serverContract(postgresql, onPg, 'pg: ');
serverContract(mariadb, onMysql2, 'mysql2: ');

for (const [database, open, name] of [
  [postgresql, onPg, 'pg'],
  [
    postgresql,
    (address: string) => onPg(address, { options: '-c default_transaction_isolation=serializable' }),
    'pg, serializable',
  ],
  [mariadb, onMysql2, 'mysql2'],
] as const) {
  serverContract(
    {
      ...database,
      register(title, run) {
        if (isRace(title)) database.register(title, run);
      },
    },
    (address) => nodesInTurn([1, 2, 3, 4].map(() => open(address))),
    `${name}, four nodes: `,
  );
}
