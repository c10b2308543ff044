import knex from 'knex';
import type { Knex } from 'knex';

/** A kind of database server that the tests run on. */
export interface ServerKind {
  readonly name: 'PostgreSQL' | 'MariaDB';
  readonly client: 'pg' | 'mysql2';
  /** The environment variable with the address of a server whose user may create databases. */
  readonly variable: string;
  /** What the variable could be. */
  readonly example: string;
}

export const POSTGRESQL: ServerKind = {
  name: 'PostgreSQL',
  client: 'pg',
  variable: 'TEST_POSTGRES_URL',
  example: 'postgres://postgres@127.0.0.1:5432/postgres',
};

export const MARIADB: ServerKind = {
  name: 'MariaDB',
  client: 'mysql2',
  variable: 'TEST_MYSQL_URL',
  example: 'mysql://root@127.0.0.1:3306',
};

/** The error of a call that writes, on a server that only allows reads. */
export const READ_ONLY: { readonly code: string; readonly message: string } = {
  code: 'ERR_STORAGE',
  message:
    'The database server only allows reads: it is a standby, or set to be read-only. Nothing was changed. Connect to the primary server.',
};

/** The address of the server to use, or the remedy if there is none. Its variable says so: what a run tests depends on nothing else. */
export function findServer({
  example,
  variable,
}: ServerKind): { readonly address: string } | { readonly remedy: string } {
  const address = process.env[variable];
  return address ? { address } : { remedy: `set ${variable}, such as ${example}` };
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
