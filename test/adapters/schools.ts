import type { ExecutionContext } from 'ava';
import type { Knex } from 'knex';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { Storage } from '../../lib/contracts/index.ts';
import type { TestDatabase } from './databases.ts';
import { connectHost } from './host-knex.ts';

/** The database of an app with a table of schools, and the storage on the app's Knex instance. */
export interface Schools {
  readonly storage: Storage;
  readonly host: Knex;
  /** The names of the schools, read on another connection. */
  names(this: void): Promise<string[]>;
}

export async function openSchools(
  t: ExecutionContext,
  { client }: TestDatabase,
  address: string,
  { host = connectHost(client, address), timeout = 5000 }: { host?: Knex; timeout?: number } = {},
): Promise<Schools> {
  const other = connectHost(client, address);
  t.teardown(async () => {
    await host.destroy();
    await other.destroy();
  });
  // With the default timeout: the first connection may take longer than the timeout under test.
  await knexStorage(host).migrate();
  const storage = knexStorage(host, { timeout: `${timeout} ms` });
  await other.schema.createTable('schools', (table) => {
    table.string('name').primary();
  });
  return { storage, host, names: async () => other('schools').pluck('name').orderBy('name') };
}

/** Runs work in a transaction of the storage, with its Knex transaction. */
export async function transact<T>(
  storage: Storage,
  work: (transaction: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return storage.transaction(async (transaction) => work(transaction as Knex.Transaction));
}
