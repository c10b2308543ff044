import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { findServer, MARIADB, POSTGRESQL } from '../test/adapters/servers.ts';
import { enlargeBufferPool } from './buffer-pool.ts';
import type { Contestant } from './contestants.ts';
import { FUTURE, PAST, serverDatabase, sqliteDatabase } from './filled-database.ts';
import type { BenchDatabase } from './filled-database.ts';

/** In bytes, with its refresh token and room for more rows: a million take 0.9 GiB in MariaDB. */
const GRANT_SIZE = 2048;

/**
 * Makes the database of a contestant, if it has one, until the end of `scope`.
 * @param part - divides the number of rows
 */
export async function makeDatabase(
  { database, filled: { valid = 0, expired = 0 } = {} }: Contestant,
  part: number,
  scope: AsyncDisposableStack,
): Promise<BenchDatabase | undefined> {
  const made = await makeEmpty(database);
  if (!made) return undefined;
  scope.defer(async () => made.remove());
  const [validRows, expiredRows] = [valid / part, expired / part];
  if (validRows + expiredRows === 0) return made;
  if (database === 'MariaDB') await enlargeBufferPool(made.knex, validRows * GRANT_SIZE, scope);
  const storage = knexStorage(made.address);
  await storage.migrate();
  await storage.close();
  const [from, clientId] = [1, 'timetable'];
  if (validRows > 0) await made.addGrants({ from, to: validRows, clientId, expiresAt: FUTURE });
  if (expiredRows > 0) await made.addGrants({ from, to: expiredRows, clientId, expiresAt: PAST });
  return made;
}

async function makeEmpty(database: Contestant['database']): Promise<BenchDatabase | undefined> {
  if (database === undefined) return undefined;
  if (database === 'SQLite') return sqliteDatabase();
  const kind = database === 'PostgreSQL' ? POSTGRESQL : MARIADB;
  const server = await findServer(kind);
  return 'address' in server ? serverDatabase(kind.client, server.address) : undefined;
}
