import type { ExecutionContext } from 'ava';
import knex from 'knex';
import type { Knex } from 'knex';
import type { Storage } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import type { TestDatabase } from './databases.ts';
import type { ServerKind } from './servers.ts';

interface Connection {
  query(sql: string, done: (error?: Error) => void): void;
}

/** A pool of one connection, so that what is set on it, and what it counts, is that of all statements. */
export const SOLE: Knex.PoolConfig = { min: 1, max: 1 };

/** A host's Knex instance on a database of a test. */
export function connectHost(
  client: TestDatabase['client'],
  address: string,
  pool: Knex.PoolConfig = {},
): Knex {
  const connection = client === 'better-sqlite3' ? { filename: address.slice('sqlite:'.length) } : address;
  return knex({ client, connection, useNullAsDefault: true, pool, log: { warn() {} } });
}

/** The same until the end of the test. */
export function openHost(t: ExecutionContext, ...given: Parameters<typeof connectHost>): Knex {
  const host = connectHost(...given);
  t.teardown(async () => host.destroy());
  return host;
}

/** A transaction of another program, which is rolled back at the end of the test unless it has ended. */
export async function openTransaction(t: ExecutionContext, host: Knex): Promise<Knex.Transaction> {
  const transaction = await host.transaction();
  t.teardown(async () => {
    if (!transaction.isCompleted()) await transaction.rollback();
  });
  return transaction;
}

/** A storage on an address, which is migrated and closed at the end of the test. */
export async function openStorage(
  t: ExecutionContext,
  ...given: Parameters<typeof knexStorage>
): Promise<Storage> {
  const storage = knexStorage(...given);
  t.teardown(async () => storage.close());
  await storage.migrate();
  return storage;
}

/** The storages of several nodes on an address, with connections of their own, which are closed at the end of the test. */
export function openNodes(
  t: ExecutionContext,
  count: number,
  ...given: Parameters<typeof knexStorage>
): readonly [Storage, ...Storage[]] {
  const nodes = Array.from({ length: count }, () => knexStorage(...given));
  t.teardown(async () => Promise.all(nodes.map(async (node) => node.close())));
  return nodes as [Storage, ...Storage[]];
}

/**
 * The rows of tables and indexes of MariaDB that a call reads, on a host with a {@link SOLE} connection. Not for use in a
 * transaction, which this would commit.
 */
export async function rowsReadBy(host: Knex, call: () => Promise<unknown>): Promise<number> {
  await host.raw('flush local status');
  await call();
  const [counters] = await host.raw(`show local status like 'Handler_read%'`);
  return (counters as { Value: string }[]).reduce((sum, { Value: value }) => sum + Number(value), 0);
}

/** A host's Knex instance with settings that must not change what the storage does. */
export function hostKnex(client: ServerKind['client'], address: string, setting: string): Knex {
  return knex({
    client,
    connection: client === 'mysql2' ? { uri: address, typeCast: withBooleans } : address,
    postProcessResponse: () => 'not for Gatehouse',
    wrapIdentifier: (value, original) => original(value.toUpperCase()),
    pool: {
      afterCreate(connection: Connection, done: (error?: Error) => void) {
        connection.query(setting, done);
      },
    },
  });
}

/** A usual `typeCast` of mysql2. */
function withBooleans(field: { readonly type: string; string(): string }, next: () => unknown): unknown {
  return field.type === 'TINY' ? field.string() === '1' : next();
}
