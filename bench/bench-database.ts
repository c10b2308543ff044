import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import knex from 'knex';
import type { Knex } from 'knex';

import { findDatabaseCpu } from './database-cpu.ts';
import type { DatabaseCpu } from './database-cpu.ts';

/** When everything that is not to be pruned expires, and what is to be pruned did; in seconds. */
export const FUTURE = 4_000_000_000;
export const PAST = 1_000_000_000;

/** A database that is made for a measurement, and SQL that fills it faster than the storage does. */
export interface BenchDatabase {
  readonly name: string;
  readonly address: string;
  readonly knex: Knex;
  /** The CPU time of the database server; `undefined` for SQLite. */
  readonly cpu: DatabaseCpu | undefined;
  /** The size of all tables with their indexes, in bytes. */
  readonly size: () => Promise<number>;
  /** Adds grants with a refresh token each, numbered from `from` to `to`: see {@link idOf}, {@link userOf}. */
  readonly addGrants: (range: {
    from: number;
    to: number;
    clientId: string;
    expiresAt: number;
  }) => Promise<void>;
  /** Ends other users than those of the grants, numbered as these. */
  readonly addRevocations: (range: { from: number; to: number }) => Promise<void>;
  /** Copies a row of a table as often as the range says. The values of the given columns are SQL with the number as `i`. */
  readonly addCopies: (
    table: string,
    original: string,
    range: { from: number; to: number; values: (numbers: Numbers) => Readonly<Record<string, string>> },
  ) => Promise<void>;
  remove(): Promise<void>;
}

/** Spread over the whole index, as hashes are. */
export function idOf(number: number): string {
  return ((BigInt(number) * 2654435761n) % 4294967296n).toString(16);
}

/** A user has ten grants. */
export function userOf(number: number): string {
  return `user ${Math.floor(number / 10)}`;
}

/** SQL of a database for rows that have numbers. */
export interface Numbers {
  /** A query with one column `i`. */
  readonly series: (from: number, to: number) => string;
  readonly id: string;
  readonly user: string;
  /** Such as `app 0000042`. */
  readonly app: string;
}

const NUMBERS: Readonly<Record<'better-sqlite3' | 'pg' | 'mysql2', Numbers>> = {
  'better-sqlite3': {
    series: (from, to) =>
      `with recursive n(i) as (select ${from} union all select i + 1 from n where i < ${to}) select i from n`,
    id: `printf('%x', i * 2654435761 % 4294967296)`,
    user: `'user ' || (i / 10)`,
    app: `printf('app %07d', i)`,
  },
  pg: {
    series: (from, to) => `select i from generate_series(${from}::bigint, ${to}) i`,
    id: `to_hex(i * 2654435761 % 4294967296)`,
    user: `'user ' || (i / 10)`,
    app: `'app ' || lpad(i::text, 7, '0')`,
  },
  mysql2: {
    series: (from, to) => `select seq as i from seq_${from}_to_${to}`,
    id: `lower(hex(i * 2654435761 % 4294967296))`,
    user: `concat('user ', i div 10)`,
    app: `concat('app ', lpad(i, 7, '0'))`,
  },
};

const PAYLOAD = JSON.stringify({ iat: PAST, scope: 'schools:read', filler: 'x'.repeat(300) });

function filler(database: Knex, client: keyof typeof NUMBERS): BenchDatabase['addGrants'] {
  const { series, id, user } = NUMBERS[client];
  return async ({ from, to, clientId, expiresAt }) => {
    const numbers = `(${series(from, to)}) numbers`;
    await database.raw(`insert into gatehouse_grants
      (id, user_id, client_id, scopes, created_at, expires_at, revoked_at, needed_until, sequence)
      select ${id}, ${user}, '${clientId}', null, ${PAST}, ${expiresAt}, null, ${expiresAt}, 0 from ${numbers}`);
    await database.raw(`insert into gatehouse_credentials
      (id, kind, grant_id, payload, expires_at, consumed_at, sealed_successor)
      select ${id}, 'refresh_token', ${id}, '${PAYLOAD}', ${expiresAt}, null, null from ${numbers}`);
    if (client === 'pg') await database.raw('analyze gatehouse_grants; analyze gatehouse_credentials');
  };
}

function revoker(database: Knex, client: keyof typeof NUMBERS): BenchDatabase['addRevocations'] {
  const { series, id } = NUMBERS[client];
  return async ({ from, to }) => {
    await database.raw(`insert into gatehouse_revocations (kind, value, revoked_at, expires_at, sequence)
      select 'user', ${id}, ${PAST}, ${FUTURE}, i from (${series(from, to)}) numbers`);
    await database('gatehouse_revocations').where({ kind: 'sequence', value: '' }).update({ sequence: to });
    if (client === 'pg') await database.raw('analyze gatehouse_revocations');
  };
}

function copier(database: Knex, client: keyof typeof NUMBERS): BenchDatabase['addCopies'] {
  const { series } = NUMBERS[client];
  return async (table, original, { from, to, values }) => {
    const columns = Object.keys(await database(table).columnInfo());
    const changed = values(NUMBERS[client]);
    const selected = columns.map((column) => changed[column] ?? `original.${column}`);
    await database.raw(
      `insert into ${table} (${columns.join(', ')}) select ${selected.join(', ')}
       from ${table} original, (${series(from, to)}) numbers where original.id = ?`,
      [original],
    );
    if (client === 'pg') await database.raw(`analyze ${table}`);
  };
}

const SIZES: Readonly<Record<keyof typeof NUMBERS, string>> = {
  'better-sqlite3': 'select page_count * page_size as size from pragma_page_count(), pragma_page_size()',
  pg: 'select pg_database_size(current_database()) as size',
  mysql2:
    'select sum(data_length + index_length) as size from information_schema.tables where table_schema = database()',
};

async function sizeOf(database: Knex, client: keyof typeof NUMBERS): Promise<number> {
  const answer: unknown = await database.raw(SIZES[client]);
  const [row] = (client === 'pg' ? (answer as { rows: unknown[] }).rows : [answer].flat(2)) as [
    { size: number | string },
  ];
  return Number(row.size);
}

export async function sqliteDatabase(): Promise<BenchDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'));
  const filename = join(folder, 'bench.db');
  const opened = knex({ client: 'better-sqlite3', connection: { filename }, useNullAsDefault: true });
  return {
    name: 'SQLite',
    address: `sqlite:${filename}`,
    knex: opened,
    cpu: undefined,
    size: async () => sizeOf(opened, 'better-sqlite3'),
    addCopies: copier(opened, 'better-sqlite3'),
    addRevocations: revoker(opened, 'better-sqlite3'),
    addGrants: filler(opened, 'better-sqlite3'),
    async remove() {
      await opened.destroy();
      rmSync(folder, { recursive: true });
    },
  };
}

export async function serverDatabase(client: 'pg' | 'mysql2', server: string): Promise<BenchDatabase> {
  const name = `gatehouse_bench_${randomBytes(6).toString('hex')}`;
  const address = new URL(server);
  address.pathname = name;
  const admin = knex({ client, connection: server });
  await admin.raw(`create database ${name}`);
  const opened = knex({ client, connection: address.href });
  return {
    name: client === 'pg' ? 'PostgreSQL' : 'MariaDB',
    address: address.href,
    knex: opened,
    cpu: await findDatabaseCpu(client, opened),
    size: async () => sizeOf(opened, client),
    addCopies: copier(opened, client),
    addRevocations: revoker(opened, client),
    addGrants: filler(opened, client),
    async remove() {
      await opened.destroy();
      // A connection that was closed here may still be open there.
      await admin.raw(`drop database ${name} ${client === 'pg' ? 'with (force)' : ''}`);
      await admin.destroy();
    },
  };
}
