import { connect, findServer, MARIADB, POSTGRESQL } from '../test/adapters/servers.ts';
import type { ServerKind } from '../test/adapters/servers.ts';
import { CHROMIUM } from '../test/harness/chromium-path.ts';
import { findDatabaseCpu } from './database-cpu.ts';
import type { Size } from './fill-database.ts';
import { OPEN_ROUTE } from './protocol.ts';

/** A server that the benchmark measures. */
export interface Contestant {
  readonly about: string;
  /** The file that its process runs, below server/. */
  readonly file: string;
  /** The file that each of its processes runs, of a server that runs in several. */
  readonly worker?: string;
  /** The file for the measurement of start-up, without the parts that the others do not have. @default file */
  readonly startFile?: string;
  readonly database?: 'SQLite' | 'PostgreSQL' | 'MariaDB';
  /** Adds the CPU time of the database server, which nothing else may use, to that of its process. */
  readonly countsDatabase?: true;
  /** What its database has at the start. If it is expired, there are only grants with their refresh tokens. */
  readonly filled?: Size & { readonly expired?: true };
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
  | 'gatehouse-postgresql-workers'
  | 'gatehouse-thousand'
  | 'gatehouse-million'
  | 'gatehouse-postgresql-thousand'
  | 'gatehouse-postgresql-million'
  | 'gatehouse-mariadb-thousand'
  | 'gatehouse-mariadb-million'
  | 'gatehouse-pruning'
  | 'gatehouse-open'
  | 'gatehouse-openid'
  | 'plain'
  | 'plain-openid'
  | 'plain-knex'
  | 'plain-workers'
  | 'floor'
  | 'floor-workers'
  | 'koa'
  | 'koa-router'
  | 'jose'
  | 'node-oauth2-server'
  | 'better-auth'
  | 'html-pdf'
  | 'html-pdf-plain';

const THOUSAND: Size = { grants: 1_000, clients: 1_000 };
const MILLION: Size = { grants: 1_000_000, clients: 100_000 };

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
    worker: 'gatehouse.ts',
    database: 'SQLite',
  },
  'gatehouse-postgresql-workers': {
    about: 'this package on PostgreSQL, in the processes of --workers',
    file: 'workers.ts',
    worker: 'gatehouse.ts',
    database: 'PostgreSQL',
  },
  'gatehouse-thousand': {
    about: 'the same, with a thousand grants in its database',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: THOUSAND,
  },
  'gatehouse-million': {
    about: 'with a million',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: MILLION,
  },
  'gatehouse-postgresql-thousand': {
    about: 'this package on PostgreSQL, whose own CPU time is counted, with a thousand grants',
    file: 'gatehouse.ts',
    database: 'PostgreSQL',
    countsDatabase: true,
    filled: THOUSAND,
  },
  'gatehouse-postgresql-million': {
    about: 'with a million, and the same PostgreSQL',
    file: 'gatehouse.ts',
    database: 'PostgreSQL',
    countsDatabase: true,
    filled: MILLION,
  },
  'gatehouse-mariadb-thousand': {
    about: 'this package on MariaDB, whose own CPU time is counted, with a thousand grants',
    file: 'gatehouse.ts',
    database: 'MariaDB',
    countsDatabase: true,
    filled: THOUSAND,
  },
  'gatehouse-mariadb-million': {
    about: 'with a million, which fit into the buffer pool, and the same MariaDB',
    file: 'gatehouse.ts',
    database: 'MariaDB',
    countsDatabase: true,
    filled: MILLION,
  },
  'gatehouse-pruning': {
    about: 'with a million expired grants that are pruned meanwhile',
    file: 'gatehouse.ts',
    database: 'SQLite',
    filled: { ...MILLION, expired: true },
    prunes: true,
  },
  'gatehouse-open': {
    about: 'a route of the same app without a guard, behind this package',
    file: 'gatehouse.ts',
    database: 'SQLite',
    route: OPEN_ROUTE,
  },
  'gatehouse-openid': {
    about: 'this package on SQLite, of an app that asks for OpenID Connect: with an ID token',
    file: 'gatehouse-openid.ts',
    database: 'SQLite',
  },
  plain: { about: 'oidc-provider alone, with a Map as storage', file: 'plain.ts' },
  'plain-openid': {
    about:
      'oidc-provider alone, with a Map as storage, of an app that asks for OpenID Connect: with an ID token',
    file: 'plain-openid.ts',
  },
  'plain-knex': {
    about: 'oidc-provider alone, with an adapter of one table on Knex and SQLite',
    file: 'plain-knex.ts',
    database: 'SQLite',
  },
  'plain-workers': {
    about: 'plain in as many processes as gatehouse-workers, each with a Map of its own',
    file: 'workers.ts',
    worker: 'plain.ts',
  },
  floor: { about: 'Koa and one ES256 signature', file: 'floor.ts' },
  'floor-workers': {
    about: 'the same, in as many processes as gatehouse-workers',
    file: 'workers.ts',
    worker: 'floor.ts',
  },
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

/** The contestants that this machine cannot run, with the remedy. */
export async function findMissing(): Promise<ReadonlyMap<ContestantName, string>> {
  const missing = new Map<ContestantName, string>();
  for (const kind of [POSTGRESQL, MARIADB]) {
    const remedy = await remedyOf(kind);
    if (remedy === undefined) continue;
    for (const [name, { database }] of Object.entries(CONTESTANTS))
      if (database === kind.name) missing.set(name as ContestantName, remedy);
  }
  if (CHROMIUM === undefined) {
    const remedy = 'install Chromium, or say where it is with CHROMIUM';
    missing.set('html-pdf', remedy).set('html-pdf-plain', remedy);
  }
  return missing;
}

async function remedyOf(kind: ServerKind): Promise<string | undefined> {
  const server = findServer(kind);
  if ('remedy' in server) return server.remedy;
  const database = connect(kind, server.address);
  try {
    await findDatabaseCpu(kind.client, database);
    return undefined;
  } catch {
    return `run ${kind.name} on this machine, and this as a user who may read its pid file, for its CPU time`;
  } finally {
    await database.destroy();
  }
}
