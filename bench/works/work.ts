import type { OAuthClient } from '../client/oauth-client.ts';
import type { ContestantName } from '../contestants.ts';

/** The authorization servers of each work about tokens, and the minimum. */
export const SERVERS: readonly ContestantName[] = [
  'plain',
  'plain-openid',
  'plain-knex',
  'gatehouse',
  'gatehouse-openid',
  'gatehouse-postgresql',
  'node-oauth2-server',
  'better-auth',
  'floor',
];

/** A kind of operation that is measured. */
export interface Work {
  readonly name: string;
  readonly about: string;
  /** The contestants. The first is the reference of the ratios. */
  readonly contestants: readonly ContestantName[];
  /** The number of connections. */
  readonly connections: number;
  /** Operations of each contestant before the first round, instead of the default for those that take microseconds. */
  readonly warmUp?: number;
  /** A number of rounds and of operations in each, instead of rounds of some seconds. */
  readonly fixed?: { readonly rounds: number; readonly operations: number };
  /** Prepares a server for a number of connections; with `smoke`, with as little as possible. */
  readonly prepare: (client: OAuthClient, connections: number, smoke: boolean) => Promise<Operations>;
}

export interface Operations {
  /** Runs one operation on a connection. Throws when the response is wrong. */
  readonly run: (connection: number) => Promise<void>;
  /** Prepares what `count` operations use up, such as codes. Its time is not measured. */
  readonly supply?: (count: number) => Promise<void>;
}
