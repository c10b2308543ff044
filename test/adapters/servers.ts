import knex from 'knex';
import type { Knex } from 'knex';

/** A kind of database server that the tests run on. */
export interface ServerKind {
  readonly name: 'PostgreSQL' | 'MariaDB';
  readonly client: 'pg' | 'mysql2';
  /** The environment variable with the address of a server; its user must be allowed to create databases. */
  readonly variable: string;
  /** Where the server is on most machines. */
  readonly usualAddress: string;
}

export const POSTGRESQL: ServerKind = {
  name: 'PostgreSQL',
  client: 'pg',
  variable: 'TEST_POSTGRES_URL',
  usualAddress: 'postgres://postgres@127.0.0.1:5432/postgres',
};

export const MARIADB: ServerKind = {
  name: 'MariaDB',
  client: 'mysql2',
  variable: 'TEST_MYSQL_URL',
  usualAddress: 'mysql://root@127.0.0.1:3306',
};

/** Whether a missing part of the machine makes tests fail instead of being skipped. */
export const mustHaveEverything: boolean = !['', '0', 'false'].includes(process.env['CI'] ?? '');

/** The address of the server to use, or what to do so that there is one. */
export async function findServer(
  kind: ServerKind,
): Promise<{ readonly address: string } | { readonly remedy: string }> {
  const given = process.env[kind.variable];
  const address = given ?? kind.usualAddress;
  const server = connect(kind, address);
  try {
    await server.raw('select 1');
    return { address };
  } catch (error) {
    // Only what was left to chance may be missing.
    if (given !== undefined)
      throw new Error(`The server of ${kind.variable} does not answer`, { cause: error });
    return { remedy: `set ${kind.variable} or start ${kind.name} so that ${address} answers` };
  } finally {
    await server.destroy();
  }
}

/** One connection that gives up after a second. */
export function connect({ client }: ServerKind, address: string): Knex {
  return knex({
    client,
    connection: address,
    acquireConnectionTimeout: 1000,
    pool: { min: 0, max: 1, createTimeoutMillis: 1000, destroyTimeoutMillis: 1000 },
    log: { warn() {} },
  });
}
