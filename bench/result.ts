import type { ContestantName } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { intervalOfMedian, median } from './statistics.ts';
import type { Interval } from './statistics.ts';

/** The figures of all rounds of a work. */
export interface WorkResult {
  readonly name: string;
  readonly about: string;
  /** The contestant that the ratios refer to. */
  readonly reference: ContestantName;
  readonly rows: readonly ResultRow[];
}

/** Medians of the rounds of one contestant. */
export interface ResultRow extends Measurement {
  readonly contestant: ContestantName;
  /** The median of the ratios to the reference in the same round. */
  readonly cpuRatio: number;
  readonly speedRatio: number;
  readonly p50Ratio: number;
  readonly memoryRatio: number;
  readonly rounds: readonly Measurement[];
}

/** A figure of which ratios are of interest. */
export type Compared = 'cpu' | 'perSecond' | 'p50' | 'p99' | 'peakMemory';

export type Rounds = ReadonlyMap<ContestantName, readonly Measurement[]>;

export function toResult(work: { name: string; about: string }, rounds: Rounds): WorkResult {
  const [[reference, first]] = [...rounds] as [[ContestantName, readonly Measurement[]]];
  return {
    name: work.name,
    about: work.about,
    reference,
    rows: Array.from(rounds, ([contestant, measured]) => toRow(contestant, measured, first)),
  };
}

function toRow(
  contestant: ContestantName,
  rounds: readonly Measurement[],
  reference: readonly Measurement[],
): ResultRow {
  const of = (figure: keyof Measurement) => median(rounds.map((round) => round[figure] ?? NaN));
  const ratio = (figure: Compared) => ratioOf(figure, { rounds }, { rounds: reference });
  return {
    contestant,
    operations: of('operations'),
    perSecond: of('perSecond'),
    cpu: of('cpu'),
    p50: of('p50'),
    p99: of('p99'),
    peakMemory: of('peakMemory'),
    memory: of('memory'),
    statements: of('statements'),
    others: rounds[0]?.others === undefined ? undefined : of('others'),
    cpuRatio: ratio('cpu'),
    speedRatio: ratio('perSecond'),
    p50Ratio: ratio('p50'),
    memoryRatio: ratio('peakMemory'),
    rounds,
  };
}

/** The median of the ratios of a figure to that of another contestant in the same round. */
export function ratioOf(figure: Compared, row: Measured, other: Measured): number {
  return median(ratiosOf(figure, row, other));
}

/** Where the median of the ratios lies. `undefined`: it is not known well enough to say it. */
export function sureIntervalOf(figure: Compared, row: Measured, other: Measured): Interval | undefined {
  const ratios = ratiosOf(figure, row, other);
  const interval = intervalOfMedian(ratios);
  return interval && interval.high - interval.low <= SURE ? interval : undefined;
}

type Measured = Pick<ResultRow, 'rounds'>;

// The widest interval: 5 % of the other's figure.
const SURE = 0.05;

function ratiosOf(figure: Compared, { rounds }: Measured, other: Measured): number[] {
  return rounds.map((round, index) => round[figure] / other.rounds[index]![figure]);
}

export function findRow({ rows }: WorkResult, contestant: ContestantName): ResultRow | undefined {
  return rows.find((row) => row.contestant === contestant);
}
