import type { Command } from 'commander';
import type { Administration, Client, Storage } from 'koa-gatehouse';

import { UsageError } from './failure.ts';
import { readGateFile } from './gate-file.ts';
import type { GateFile } from './gate-file.ts';
import { print } from './report.ts';
import type { Report } from './report.ts';

/** The open database and the global options of a command. */
export interface Session {
  readonly administration: Administration;
  readonly storage: Storage;
  /** The exports of the gate file; `undefined` without `--gate`, when names of permissions, roles and scopes are not known. */
  readonly names: GateFile | undefined;
  readonly asJson: boolean;
}

/** The options of every command. */
export interface GlobalOptions {
  readonly database?: string;
  readonly gate?: string;
  readonly json?: boolean;
}

/**
 * Creates the action of a command, which opens the database, calls `run`, prints its report and closes the database.
 *
 * @param run - called with the command's options and arguments. It resolves to `undefined` when it has printed its output itself
 * @param needs.tables - `false` when the command also runs while migrations are pending
 * @param needs.create - `true` when a missing SQLite file is created
 */
export function withSession(
  run: (session: Session, options: never, ...commandArguments: never[]) => Promise<Report | undefined>,
  { tables = true, create = false }: { tables?: boolean; create?: boolean } = {},
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const command = given.at(-1) as Command;
    const session = await open(command.optsWithGlobals(), create);
    try {
      if (tables) await checkTables(session.storage);
      const report = await run(session, command.opts(), ...(command.processedArgs as never[]));
      if (report) print(report, session);
    } finally {
      await session.administration.close();
    }
  };
}

async function open({ database, gate, json = false }: GlobalOptions, create: boolean): Promise<Session> {
  const address = requireDatabase(database);
  const names = gate === undefined ? undefined : await readGateFile(gate);
  // Not imported by its public name, because that also loads oidc-provider, which takes longer than most commands.
  const { createAdministration } = await import('../server/administration.ts');
  const { knexStorage } = await import('koa-gatehouse/adapters/knex');
  const storage = knexStorage(address, { createFile: create });
  const { lifetimes, users: _users, ...checkedBy } = names ?? {};
  const tokens = { lifetimes };
  const administration = createAdministration({ storage, ...checkedBy, tokens, secrets: secrets() });
  return { administration, storage, names, asJson: json };
}

/** @throws UsageError without an address of a database */
export function requireDatabase(database: string | undefined): string {
  if (database) return database;
  throw new UsageError('Give the database: --database URL, or the environment variable DATABASE_URL.');
}

function secrets(): { keyEncryptionKey?: readonly string[] | false } {
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

/** @throws ClientNotFoundError when there is no such client */
export async function findClient({ administration }: Session, id: string): Promise<Client> {
  const client = await administration.clients.find(id);
  if (client) return client;
  const { ClientNotFoundError } = await import('../errors.ts');
  throw new ClientNotFoundError(id);
}
