import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { findServer, POSTGRESQL } from '../test/adapters/servers.ts';
import { CHROMIUM } from './chromium.ts';
import { FUTURE, PAST, serverDatabase, sqliteDatabase } from './filled-database.ts';
import type { BenchDatabase } from './filled-database.ts';

/** A server that the benchmark measures. */
export interface Contestant {
  readonly about: string;
  /** The file that its process runs, below server/. */
  readonly file: string;
  /** The file for the measurement of start-up, without the parts that the others do not have. @default file */
  readonly startFile?: string;
  readonly database?: 'SQLite' | 'PostgreSQL';
  readonly workers?: number;
  /** The number of grants in its database at the start, each with a refresh token. */
  readonly filled?: { readonly valid?: number; readonly expired?: number };
  /** Prunes expired rows during the measurement. */
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
  | 'jose'
  | 'html-pdf'
  | 'html-pdf-plain';

export const CONTESTANTS: Readonly<Record<ContestantName, Contestant>> = {
  gatehouse: {
    about: 'this package on SQLite',
    file: 'gatehouse.ts',
    startFile: 'gatehouse-alone.ts',
    database: 'SQLite',
  },
  'gatehouse-json': {
    about: 'the same, with JSON instead of form bodies',
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
    filled: { valid: 1_000 },
  },
  'gatehouse-million': {
    about: 'with a million',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { valid: 1_000_000 },
  },
  'gatehouse-pruning': {
    about: 'with a million expired grants that are pruned meanwhile',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { expired: 1_000_000 },
    prunes: true,
  },
  plain: { about: 'oidc-provider alone, with a Map as storage', file: 'plain.ts' },
  floor: { about: 'Koa and one ES256 signature', file: 'floor.ts' },
  unguarded: { about: 'the route without a guard', file: 'unguarded.ts' },
  jose: { about: 'the route behind jwtVerify of jose', file: 'jose-guard.ts' },
  'html-pdf': { about: 'koa-gatehouse/html-pdf, with all its defences', file: 'html-pdf.ts' },
  'html-pdf-plain': {
    about: 'page.pdf() of playwright-core without any, on the same Chromium',
    file: 'html-pdf-plain.ts',
  },
};

/**
 * Makes the database of a contestant, if it has one.
 * @param part - divides the number of rows
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
  { valid = 0, expired = 0 }: NonNullable<Contestant['filled']>,
  part: number,
): Promise<void> {
  const storage = knexStorage(database.address);
  await storage.migrate();
  await storage.close();
  const from = 1;
  const clientId = 'timetable';
  if (valid > 0) await database.addGrants({ from, to: valid / part, clientId, expiresAt: FUTURE });
  if (expired > 0) await database.addGrants({ from, to: expired / part, clientId, expiresAt: PAST });
}

/** The contestants that this machine cannot run, with the remedy. */
export async function findMissing(): Promise<ReadonlyMap<ContestantName, string>> {
  const server = await findServer(POSTGRESQL);
  const missing = new Map<ContestantName, string>();
  if ('remedy' in server) missing.set('gatehouse-postgresql', server.remedy);
  if (CHROMIUM === undefined) {
    const remedy = 'install Chromium, or say where it is with CHROMIUM';
    missing.set('html-pdf', remedy).set('html-pdf-plain', remedy);
  }
  return missing;
}
