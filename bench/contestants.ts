import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { findServer, POSTGRESQL } from '../test/adapters/servers.ts';
import { CHROMIUM } from './chromium.ts';
import { FUTURE, PAST, serverDatabase, sqliteDatabase } from './filled-database.ts';
import type { BenchDatabase } from './filled-database.ts';
import { OPEN_ROUTE } from './protocol.ts';

/** A server that the benchmark measures. */
export interface Contestant {
  readonly about: string;
  /** The file that its process runs, below server/. */
  readonly file: string;
  /** The file for the measurement of start-up, without the parts that the others do not have. @default file */
  readonly startFile?: string;
  readonly database?: 'SQLite' | 'PostgreSQL';
  /** The number of grants in its database at the start, each with a refresh token. */
  readonly filled?: { readonly valid?: number; readonly expired?: number };
  /** Prunes expired rows during the measurement. */
  readonly prunes?: true;
  /** The encoding of its token requests. @default 'form' */
  readonly encoding?: 'json';
  /** The route that the works of the guard call. @default GUARDED_ROUTE */
  readonly route?: string;
  /** Another project, a module below peers/ with packages that are installed on request: see install-peers.ts. */
  readonly peer?: string;
}

export type ContestantName =
  | 'gatehouse'
  | 'gatehouse-json'
  | 'gatehouse-postgresql'
  | 'gatehouse-workers'
  | 'gatehouse-thousand'
  | 'gatehouse-million'
  | 'gatehouse-pruning'
  | 'gatehouse-open'
  | 'plain'
  | 'plain-knex'
  | 'floor'
  | 'koa'
  | 'koa-router'
  | 'jose'
  | 'node-oauth2-server'
  | 'better-auth'
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
    encoding: 'json',
  },
  'gatehouse-postgresql': {
    about: 'this package on PostgreSQL, whose own CPU time is not counted',
    file: 'gatehouse.ts',
    startFile: 'gatehouse-alone.ts',
    database: 'PostgreSQL',
  },
  'gatehouse-workers': {
    about: 'this package on SQLite, in the processes of --workers',
    file: 'workers.ts',
    database: 'SQLite',
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
  'gatehouse-open': {
    about: 'a route of the same app without a guard, behind this package',
    file: 'gatehouse.ts',
    database: 'SQLite',
    route: OPEN_ROUTE,
  },
  plain: { about: 'oidc-provider alone, with a Map as storage', file: 'plain.ts' },
  'plain-knex': {
    about: 'oidc-provider alone, with an adapter of one table on Knex and SQLite',
    file: 'plain-knex.ts',
    database: 'SQLite',
  },
  floor: { about: 'Koa and one ES256 signature', file: 'floor.ts' },
  koa: { about: 'Koa, which answers every path', file: 'koa.ts' },
  'koa-router': { about: 'the route with Koa and koa-router alone', file: 'koa-router.ts' },
  jose: { about: 'the route behind jwtVerify of jose', file: 'jose-guard.ts' },
  'node-oauth2-server': {
    about: '@node-oauth/oauth2-server on Koa, Knex and SQLite, with opaque tokens',
    file: 'peer.ts',
    database: 'SQLite',
    peer: 'node-oauth2-server',
  },
  'better-auth': {
    about: 'better-auth on SQLite, with all its caches on',
    file: 'peer.ts',
    database: 'SQLite',
    peer: 'better-auth',
  },
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
