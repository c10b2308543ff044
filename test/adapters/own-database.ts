import { randomBytes } from 'node:crypto';

import { connect } from './servers.ts';
import type { ServerKind } from './servers.ts';

/** A database that only one test file uses. */
export interface OwnDatabase {
  readonly address: string;
  /** Removes everything in it. */
  empty(): Promise<void>;
  /** Removes all rows of the storage; its tables stay, if there are any. */
  clear(): Promise<void>;
  /** Removes the database itself. */
  drop(): Promise<void>;
}

export async function createOwnDatabase(kind: ServerKind, serverAddress: string): Promise<OwnDatabase> {
  const name = `gatehouse_test_${randomBytes(6).toString('hex')}`;
  const address = new URL(serverAddress);
  address.pathname = name;
  const server = connect(kind, serverAddress);
  const inside = connect(kind, address.href);
  await server.raw(`create database ${name}`);
  // Nothing here outlives the server: its commits need not wait for the disk.
  if (kind.client === 'pg') await server.raw(`alter database ${name} set synchronous_commit = off`);

  return {
    address: address.href,
    async empty() {
      if (kind.client === 'pg') {
        await inside.raw('drop schema public cascade; create schema public');
      } else {
        await server.raw(`drop database ${name}`);
        await server.raw(`create database ${name}`);
      }
    },
    async clear() {
      const tables: { name: string }[] = await inside('information_schema.tables')
        .select('table_name as name')
        .where('table_schema', kind.client === 'pg' ? 'public' : name)
        .where('table_name', 'like', 'gatehouse%')
        .whereNot('table_name', 'gatehouse_migrations');
      await inside.transaction(async (transaction) => {
        for (const { name: table } of tables) {
          const rows = transaction(table);
          // A row that a migration has put there is a part of the schema.
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
