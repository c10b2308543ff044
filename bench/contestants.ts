import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { findServer, POSTGRESQL } from '../test/adapters/servers.ts';
import { FUTURE, PAST, serverDatabase, sqliteDatabase } from './filled-database.ts';
import type { BenchDatabase } from './filled-database.ts';

/** A server that takes part. */
export interface Contestant {
  readonly about: string;
  /** What runs in its process, below server/. */
  readonly file: string;
  /** What runs there when its start is measured: no more than the others start. @default file */
  readonly startFile?: string;
  readonly database?: 'SQLite' | 'PostgreSQL';
  readonly workers?: number;
  /** How many grants its database has before it starts, each with a refresh token. */
  readonly filled?: { readonly kept?: number; readonly expired?: number };
  /** Removes what has expired while it is measured. */
  readonly prunes?: true;
}

export type ContestantName =
  | 'gatehouse'
  | 'gatehouse-json'
  | 'gatehouse-postgresql'
  | 'gatehouse-workers'
  | 'gatehouse-thousand'
  | 'gatehouse-million'
  | 'gatehouse-pruning'
  | 'plain'
  | 'floor'
  | 'unguarded'
  | 'jose';

export const CONTESTANTS: Readonly<Record<ContestantName, Contestant>> = {
  gatehouse: {
    about: 'this package on SQLite',
    file: 'gatehouse.ts',
    startFile: 'gatehouse-alone.ts',
    database: 'SQLite',
  },
  'gatehouse-json': {
    about: 'the same, asked in JSON instead of a form',
    file: 'gatehouse.ts',
    database: 'SQLite',
  },
  'gatehouse-postgresql': {
    about: 'this package on PostgreSQL, whose own CPU time is not counted',
    file: 'gatehouse.ts',
    startFile: 'gatehouse-alone.ts',
    database: 'PostgreSQL',
  },
  'gatehouse-workers': {
    about: 'this package on SQLite, in two processes',
    file: 'workers.ts',
    database: 'SQLite',
    workers: 2,
  },
  'gatehouse-thousand': {
    about: 'the same, with a thousand grants in its database',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { kept: 1_000 },
  },
  'gatehouse-million': {
    about: 'with a million',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { kept: 1_000_000 },
  },
  'gatehouse-pruning': {
    about: 'with a million that have expired and are being removed',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { expired: 1_000_000 },
    prunes: true,
  },
  plain: { about: 'oidc-provider alone, everything in a Map', file: 'plain.ts' },
  floor: { about: 'Koa and one ES256 signature', file: 'floor.ts' },
  unguarded: { about: 'the route without a guard', file: 'unguarded.ts' },
  jose: { about: 'the route behind jwtVerify of jose', file: 'jose-guard.ts' },
};

/**
 * Makes the database of a contestant, if it has one.
 * @param part - which part of the rows it is filled with: 1 of so many
 */
export async function makeDatabase(
  { database, filled }: Contestant,
  part: number,
): Promise<BenchDatabase | undefined> {
  if (database === 'SQLite') {
    const made = await sqliteDatabase();
    if (filled) await fill(made, filled, part);
    return made;
  }
  if (database === 'PostgreSQL') {
    const server = await findServer(POSTGRESQL);
    if ('address' in server) return serverDatabase('pg', server.address);
  }
  return undefined;
}

async function fill(
  database: BenchDatabase,
  { kept = 0, expired = 0 }: NonNullable<Contestant['filled']>,
  part: number,
): Promise<void> {
  const storage = knexStorage(database.address);
  await storage.migrate();
  await storage.close();
  const from = 1;
  const clientId = 'timetable';
  if (kept > 0) await database.addGrants({ from, to: kept / part, clientId, expiresAt: FUTURE });
  if (expired > 0) await database.addGrants({ from, to: expired / part, clientId, expiresAt: PAST });
}

/** Who cannot take part on this machine, and why. */
export async function findMissing(): Promise<ReadonlyMap<ContestantName, string>> {
  const server = await findServer(POSTGRESQL);
  return new Map('remedy' in server ? [['gatehouse-postgresql', server.remedy]] : []);
}
