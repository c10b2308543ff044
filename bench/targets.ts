import type { ContestantName } from './contestants.ts';
import { findRow, ratioOf } from './result.ts';
import type { ResultRow, WorkResult } from './result.ts';
import { slope } from './statistics.ts';
import { grown } from './works/grown.ts';

/** A target of a contestant for a work. */
interface Target {
  readonly work: string;
  readonly contestant: ContestantName;
  readonly what: string;
  readonly value: (row: ResultRow, result: WorkResult) => number;
  readonly atMost: number;
}

/** The measured value of a target. */
export interface TargetResult {
  readonly work: string;
  readonly contestant: ContestantName;
  readonly what: string;
  readonly value: number;
  readonly atMost: number;
  readonly met: boolean;
}

const cpu = (work: string, contestant: ContestantName, atMost: number): Target => ({
  work,
  contestant,
  what: 'CPU time, of the first row’s',
  value: ({ cpuRatio }) => cpuRatio,
  atMost,
});

const tail = (work: string, contestant: ContestantName): Target => ({
  work,
  contestant,
  what: 'p99, of its own p50',
  value: ({ p50, p99 }) => p99 / p50,
  atMost: 4,
});

const memory = (work: string): Target => ({
  work,
  contestant: 'gatehouse',
  what: 'peak memory, of the first row’s',
  value: ({ memoryRatio }) => memoryRatio,
  atMost: 1,
});

const time = (work: string, contestant: ContestantName, atMost: number): Target => ({
  work,
  contestant,
  what: 'time of an operation, of the first row’s',
  value: ({ speedRatio }) => 1 / speedRatio,
  atMost,
});

const p50 = (work: string): Target => ({
  work,
  contestant: 'gatehouse',
  what: 'p50, of the first row’s',
  value: ({ p50Ratio }) => p50Ratio,
  atMost: 1.3,
});

const FIGURES = {
  cpu: 'CPU time',
  perSecond: 'time of an operation',
  p50: 'p50',
  peakMemory: 'peak memory',
} as const;

/** @param other - a contestant that may not have been measured */
const ofOther = (
  work: string,
  other: ContestantName,
  figure: keyof typeof FIGURES,
  atMost: number,
  contestant: ContestantName = 'gatehouse',
): Target => ({
  work,
  contestant,
  what: `${FIGURES[figure]}, of ${other}’s`,
  value(row, result) {
    const reference = findRow(result, other);
    if (!reference) return NaN;
    const ratio = ratioOf(figure, row, reference);
    // An operation takes less time when there are more in a second.
    return figure === 'perSecond' ? 1 / ratio : ratio;
  },
  atMost,
});

const TARGETS: readonly Target[] = [
  cpu('client-credentials', 'gatehouse', 1),
  cpu('client-credentials', 'gatehouse-json', 1.1),
  tail('client-credentials', 'gatehouse'),
  ...['again', 'code-exchange', 'refresh'].flatMap((work) => [
    cpu(work, 'gatehouse', 1.15),
    ofOther(work, 'plain-knex', 'cpu', 0.85),
    time(work, 'gatehouse', 1 / 0.9),
    ofOther(work, 'plain-openid', 'perSecond', 1 / 0.95),
    ofOther(work, 'plain-openid', 'p50', 1.3),
    ofOther(work, 'plain-openid', 'peakMemory', 1),
  ]),
  // The user of an app of the engine alone gets an ID token, unless the app does not ask for one.
  ofOther('code-flow', 'plain-openid', 'cpu', 1.15),
  ofOther('code-flow', 'plain-openid', 'perSecond', 1 / 0.95),
  ofOther('again', 'plain-openid', 'cpu', 1),
  ofOther('code-exchange', 'plain-openid', 'cpu', 0.85),
  ofOther('refresh', 'plain-openid', 'cpu', 0.8),
  time('client-credentials', 'gatehouse', 1 / 0.95),
  ...['client-credentials', 'again', 'code-exchange', 'refresh'].flatMap((work) => [p50(work), memory(work)]),
  ...['client-credentials', 'code-exchange', 'refresh'].map((work) =>
    ofOther(work, 'node-oauth2-server', 'cpu', 0.7),
  ),
  // It takes the session of the user as given.
  ofOther('again', 'node-oauth2-server', 'cpu', 1),
  ofOther('code-exchange', 'plain-openid', 'cpu', 1, 'gatehouse-openid'),
  cpu('guard-1', 'gatehouse', 1.15),
  cpu('guard-1000', 'gatehouse', 1.15),
  ofOther('guard-1', 'jose', 'cpu', 1 / 4),
  // The driver takes its processor time from the second process, so that the speed says less.
  ...['client-credentials-workers', 'refresh-workers'].map((work) => cpu(work, 'gatehouse-workers', 1 / 0.9)),
  cpu('refresh-workers-postgresql', 'gatehouse-postgresql-workers', 1 / 0.9),
  {
    work: 'client-credentials-workers',
    contestant: 'gatehouse-workers',
    what: 'CPU time, of one process’s, beside the growth of plain’s',
    value(row, result) {
      const [one, plain, plains] = (['gatehouse', 'plain', 'plain-workers'] as const).map((name) =>
        findRow(result, name),
      );
      if (!one || !plain || !plains) return NaN;
      return ratioOf('cpu', row, one) / ratioOf('cpu', plains, plain);
    },
    atMost: 1.05,
  },
  ...grown.map(({ name, contestants }) => cpu(name, contestants[1]!, 1.15)),
  {
    work: 'refresh-while-pruning',
    contestant: 'gatehouse-pruning',
    what: 'p99, of the first row’s',
    value: ({ p99 }, { rows }) => p99 / rows[0]!.p99,
    atMost: 2,
  },
  ...['html-pdf-1', 'html-pdf-4', 'html-pdf-16'].map((work) => time(work, 'html-pdf', 1)),
  ...(['html-pdf', 'html-pdf-plain'] as const).map((contestant): Target => ({
    work: 'html-pdf-memory',
    contestant,
    what: 'MB more after 1,000 documents',
    value: ({ rounds }) => slope(rounds.map(({ memory: after }) => after)) * rounds.length,
    // Garbage that is not collected yet makes a difference of some 15 MB either way.
    atMost: 30,
  })),
  time('start-up', 'gatehouse', 1.2),
  {
    work: 'refresh',
    contestant: 'gatehouse-postgresql',
    what: 'statements, each a round trip',
    // Batches of the audit log, one a second, are not part of an operation.
    value: ({ statements }) => Math.round(statements),
    atMost: 2,
  },
];

/** Compares the results with the targets that were measured. */
export function checkTargets(results: readonly WorkResult[]): TargetResult[] {
  return TARGETS.flatMap(({ work, contestant, what, value, atMost }) => {
    const result = results.find(({ name }) => name === work);
    const row = result && findRow(result, contestant);
    if (!result || !row) return [];
    const reached = value(row, result);
    return Number.isNaN(reached)
      ? []
      : [{ work, contestant, what, value: reached, atMost, met: reached <= atMost }];
  });
}
