import { randomBytes } from 'node:crypto';

import { connect } from './servers.ts';
import type { ServerKind } from './servers.ts';

/** A database for one test file. */
export interface OwnDatabase {
  readonly address: string;
  /** Drops all tables. */
  empty(): Promise<void>;
  /** Deletes all rows of the storage's tables, if there are any; the tables stay. With tables of a host, removes everything. */
  clear(): Promise<void>;
  /** Drops the database. */
  drop(): Promise<void>;
}

export async function createOwnDatabase(kind: ServerKind, serverAddress: string): Promise<OwnDatabase> {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  const address = new URL(serverAddress);
  address.pathname = name;
  const server = connect(kind, serverAddress);
  const isPostgresql = kind.client === 'pg';
  const inside = connect(kind, `${address.href}${isPostgresql ? '' : '?multipleStatements=true'}`);
  await server.raw(`create database ${name}`);
  // The data need not survive a crash of the server, so commits do not wait for the disk.
  if (isPostgresql) await server.raw(`alter database ${name} set synchronous_commit = off`);

  async function empty(): Promise<void> {
    if (isPostgresql) {
      await inside.raw('drop schema public cascade; create schema public');
    } else {
      await server.raw(`drop database ${name}`);
      await server.raw(`create database ${name}`);
    }
  }

  return {
    address: address.href,
    empty,
    async clear() {
      const tables = await (isPostgresql
        ? inside('pg_tables').select('tablename as name').where('schemaname', 'public')
        : inside('information_schema.tables').select('table_name as name').where('table_schema', name));
      const names = tables.map((table: { name: string }) => table.name);
      if (!names.every((table) => table.startsWith('gatehouse_'))) return empty();
      const deletions = names
        .filter((table) => table !== 'gatehouse_migrations')
        // Rows inserted by a migration belong to the schema.
        .map(
          (table) =>
            `delete from ${table}${table === 'gatehouse_revocations' ? " where kind <> 'sequence'" : ''}`,
        );
      // MariaDB 10.11 sometimes finds nothing by an index, read backwards, out of which a thousand rows have just been deleted.
      const emptied = names
        .filter((table) => !isPostgresql && table === 'gatehouse_audit')
        .map((table) => `truncate table ${table}`);
      // In one round trip, and with one commit.
      await inside.raw([...emptied, 'begin', ...deletions, 'commit'].join('; '));
    },
    async drop() {
      await inside.destroy();
      // MariaDB would wait for a day for a transaction that a test has left open, and the whole run with it.
      await server.raw(
        isPostgresql
          ? `drop database ${name} with (force)`
          : `set statement lock_wait_timeout = 20 for drop database ${name}`,
      );
      await server.destroy();
    },
  };
}
