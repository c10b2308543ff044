import type { Command } from 'commander';
import type { Administration, Client, Storage } from 'koa-gatehouse';

import { UsageError } from './failure.ts';
import { readGateFile } from './gate-file.ts';
import type { GateFile } from './gate-file.ts';
import { print } from './report.ts';
import type { Report } from './report.ts';

/** What a command works with. */
export interface Session {
  readonly administration: Administration;
  readonly storage: Storage;
  /** What `--gate` names; `undefined`: names of permissions, roles and scopes are not known. */
  readonly names: GateFile | undefined;
  readonly asJson: boolean;
}

interface GlobalOptions {
  readonly database?: string;
  readonly gate?: string;
  readonly json?: boolean;
}

/**
 * Makes the action of a command: opens the database, runs, prints the report and closes the database.
 *
 * @param run - gets the command's options and its words
 * @param needs.tables - `false`: it also runs when the tables are not those of this version
 */
export function opened(
  run: (session: Session, options: never, ...words: never[]) => Promise<Report>,
  { tables = true }: { tables?: boolean } = {},
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const session = await open(command.optsWithGlobals());
    try {
      if (tables) await checkTables(session.storage);
      const report = await run(session, command.opts(), ...(command.processedArgs as never[]));
      print(report, session);
    } finally {
      await session.administration.close();
    }
  };
}

async function open({ database, gate, json = false }: GlobalOptions): Promise<Session> {
  if (!database) {
    throw new UsageError('Give the database: --database URL, or the environment variable DATABASE_URL.');
  }
  const names = gate === undefined ? undefined : await readGateFile(gate);
  // Not by the public names, with which the engine of a server would be loaded: it takes longer than most commands.
  const { createAdministration } = await import('../server/administration.ts');
  const { knexStorage } = await import('koa-gatehouse/adapters/knex');
  const storage = knexStorage(database);
  const administration = createAdministration({ storage, ...names, ...keyEncryptionKey() });
  return { administration, storage, names, asJson: json };
}

function keyEncryptionKey(): { keyEncryptionKey?: readonly string[] | false } {
  const given = process.env['KEY_ENCRYPTION_KEY'];
  if (!given) return {};
  return { keyEncryptionKey: given === 'false' ? false : given.split(',') };
}

async function checkTables(storage: Storage): Promise<void> {
  const pending = await storage.pendingMigrations();
  if (pending.length === 0) return;
  const { MigrationsPendingError } = await import('../errors.ts');
  throw new MigrationsPendingError(pending);
}

/** @throws ClientNotFoundError */
export async function findClient({ administration }: Session, id: string): Promise<Client> {
  const client = await administration.clients.find(id);
  if (client) return client;
  const { ClientNotFoundError } = await import('../errors.ts');
  throw new ClientNotFoundError(id);
}
