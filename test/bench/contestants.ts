import { findServer, POSTGRESQL } from '../adapters/servers.ts';
import { serverDatabase, sqliteDatabase } from './filled-database.ts';
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
}

export type ContestantName =
  | 'gatehouse'
  | 'gatehouse-json'
  | 'gatehouse-postgresql'
  | 'gatehouse-workers'
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
  plain: { about: 'oidc-provider alone, everything in a Map', file: 'plain.ts' },
  floor: { about: 'Koa and one ES256 signature', file: 'floor.ts' },
  unguarded: { about: 'the route without a guard', file: 'unguarded.ts' },
  jose: { about: 'the route behind jwtVerify of jose', file: 'jose-guard.ts' },
};

/** Makes the database of a contestant, if it has one. */
export async function makeDatabase({ database }: Contestant): Promise<BenchDatabase | undefined> {
  if (database === 'SQLite') return sqliteDatabase();
  if (database === 'PostgreSQL') {
    const server = await findServer(POSTGRESQL);
    if ('address' in server) return serverDatabase('pg', server.address);
  }
  return undefined;
}

/** Who cannot take part on this machine, and why. */
export async function findMissing(): Promise<ReadonlyMap<ContestantName, string>> {
  const server = await findServer(POSTGRESQL);
  return new Map('remedy' in server ? [['gatehouse-postgresql', server.remedy]] : []);
}
