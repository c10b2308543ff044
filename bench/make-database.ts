import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { findServer, MARIADB, POSTGRESQL } from '../test/adapters/servers.ts';
import { enlargeBufferPool } from './buffer-pool.ts';
import type { Contestant } from './contestants.ts';
import { fillDatabase } from './fill-database.ts';
import { PAST, serverDatabase, sqliteDatabase } from './bench-database.ts';
import type { BenchDatabase } from './bench-database.ts';
import { CLIENT_ID } from './rows.ts';

/** Of a grant with all that belongs to it, in bytes, with room for more rows: a million take 1.7 GiB in MariaDB. */
const GRANT_SIZE = 2048;

/**
 * Makes the database of a contestant, if it has one, until the end of `scope`.
 * @param part - divides the number of rows
 */
export async function makeDatabase(
  { database, filled }: Contestant,
  part: number,
  scope: AsyncDisposableStack,
): Promise<BenchDatabase | undefined> {
  const made = await makeEmpty(database);
  if (!made) return undefined;
  scope.defer(async () => made.remove());
  if (!filled) return made;
  const [grants, clients] = [filled.grants / part, filled.clients / part];
  if (database === 'MariaDB') await enlargeBufferPool(made.knex, grants * GRANT_SIZE, scope);
  const storage = knexStorage(made.address);
  await storage.migrate();
  if (filled.expired) await made.addGrants({ from: 1, to: grants, clientId: CLIENT_ID, expiresAt: PAST });
  else await fillDatabase(made, storage, { grants, clients });
  await storage.close();
  return made;
}

async function makeEmpty(database: Contestant['database']): Promise<BenchDatabase | undefined> {
  if (database === undefined) return undefined;
  if (database === 'SQLite') return sqliteDatabase();
  const kind = database === 'PostgreSQL' ? POSTGRESQL : MARIADB;
  const server = findServer(kind);
  return 'address' in server ? serverDatabase(kind.client, server.address) : undefined;
}
