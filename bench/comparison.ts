import type { ContestantName } from './contestants.ts';
import { findRow, ratioOf, sureIntervalOf } from './result.ts';
import type { ResultRow, WorkResult } from './result.ts';
import type { Interval } from './statistics.ts';

/** The others that the documents compare this package with, in the order of the columns: each does the same work as ours. */
export const OTHERS = {
  memory: 'oidc-provider in memory',
  knex: 'oidc-provider on Knex and SQLite',
  'node-oauth2-server': 'node-oauth2-server',
  'better-auth': 'better-auth',
  route: 'Koa and koa-router alone',
  jose: '`jwtVerify()` of jose',
} as const;

export type Other = keyof typeof OTHERS;

/** Each contestant of this package, and who is its like. */
const LIKES: readonly {
  readonly own: ContestantName;
  readonly suffix: string;
  readonly others: Readonly<Partial<Record<Other, ContestantName>>>;
}[] = [
  {
    own: 'gatehouse',
    suffix: '',
    others: {
      memory: 'plain',
      knex: 'plain-knex',
      'node-oauth2-server': 'node-oauth2-server',
      'better-auth': 'better-auth',
      route: 'koa-router',
      jose: 'jose',
    },
  },
  { own: 'gatehouse-openid', suffix: ', with an ID token', others: { memory: 'plain-openid' } },
];

/** A ratio of this package's CPU time to another's. `undefined`: the rounds differ too much to say it. */
export type Ratio = (Interval & { readonly median: number }) | undefined;

/** One work of this package beside the others that were measured. */
export interface Comparison {
  readonly what: string;
  readonly own: ResultRow;
  /** Of the CPU time. */
  readonly ratios: ReadonlyMap<Other, Ratio>;
}

export function compare(result: WorkResult): Comparison[] {
  return LIKES.flatMap(({ own: name, suffix, others }) => {
    const own = findRow(result, name);
    const found = (Object.entries(others) as [Other, ContestantName][]).flatMap(([other, contestant]) => {
      const row = findRow(result, contestant);
      return row ? [[other, row] as const] : [];
    });
    if (!own || found.length === 0) return [];
    const ratios = new Map(found.map(([other, row]) => [other, toRatio(own, row)]));
    return [{ what: `${result.about}${suffix}`, own, ratios }];
  });
}

/** Whether the ratios of the CPU time are known. */
export function isSure(result: WorkResult): boolean {
  return compare(result).every(({ ratios }) => [...ratios.values()].every(Boolean));
}

function toRatio(own: ResultRow, other: ResultRow): Ratio {
  const interval = sureIntervalOf('cpu', own, other);
  return interval && { ...interval, median: ratioOf('cpu', own, other) };
}
