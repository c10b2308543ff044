import knex from 'knex';
import type { Knex } from 'knex';

/** A kind of database server that the tests run on. */
export interface ServerKind {
  readonly name: 'PostgreSQL' | 'MariaDB';
  readonly client: 'pg' | 'mysql2';
  /** The environment variable with the address of a server whose user may create databases. */
  readonly variable: string;
  /** The usual address. */
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

/** Whether a missing server or browser fails the tests instead of skipping them. */
export const mustHaveEverything: boolean = !['', '0', 'false'].includes(process.env['CI'] ?? '');

/** The error of a call that writes, on a server that only allows reads. */
export const READ_ONLY: { readonly code: string; readonly message: string } = {
  code: 'ERR_STORAGE',
  message:
    'The database server only allows reads: it is a standby, or set to be read-only. Nothing was changed. Connect to the primary server.',
};

/** The address of the server to use, or the remedy if there is none. */
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
    // Only a server at the usual address may be missing.
    if (given !== undefined)
      throw new Error(`The server of ${kind.variable} does not answer`, { cause: error });
    return { remedy: `set ${kind.variable} or start ${kind.name} so that ${address} answers` };
  } finally {
    await server.destroy();
  }
}

/** One connection. A server that is not there refuses it at once; one that is there may be busy with other tests. */
export function connect({ client }: ServerKind, address: string): Knex {
  return knex({
    client,
    connection: address,
    acquireConnectionTimeout: 20_000,
    pool: { min: 0, max: 1, createTimeoutMillis: 20_000, destroyTimeoutMillis: 1000 },
    log: { warn() {} },
  });
}
