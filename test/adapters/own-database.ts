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
  const inside = connect(kind, address.href);
  await server.raw(`create database ${name}`);
  // The data need not survive a crash of the server, so commits do not wait for the disk.
  if (kind.client === 'pg') await server.raw(`alter database ${name} set synchronous_commit = off`);

  async function empty(): Promise<void> {
    if (kind.client === 'pg') {
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
      const tables: { name: string }[] = await inside('information_schema.tables')
        .select('table_name as name')
        .where('table_schema', kind.client === 'pg' ? 'public' : name)
        .whereNot('table_name', 'gatehouse_migrations');
      if (!tables.every(({ name: table }) => table.startsWith('gatehouse_'))) return empty();
      await inside.transaction(async (transaction) => {
        for (const { name: table } of tables) {
          const rows = transaction(table);
          // Rows inserted by a migration belong to the schema.
          if (table === 'gatehouse_revocations') void rows.whereNot('kind', 'sequence');
          await rows.delete();
        }
      });
    },
    async drop() {
      await inside.destroy();
      await server.raw(`drop database ${name} ${kind.client === 'pg' ? 'with (force)' : ''}`);
      await server.destroy();
    },
  };
}
