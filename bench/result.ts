import type { ContestantName } from './contestants.ts';
import type { Measurement } from './measurement.ts';
import { median } from './statistics.ts';

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
  readonly memoryRatio: number;
  readonly rounds: readonly Measurement[];
}

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
  const ratio = (figure: 'cpu' | 'perSecond' | 'peakMemory') =>
    median(rounds.map((round, index) => round[figure] / reference[index]![figure]));
  return {
    contestant,
    operations: of('operations'),
    perSecond: of('perSecond'),
    cpu: of('cpu'),
    p50: of('p50'),
    p95: of('p95'),
    p99: of('p99'),
    peakMemory: of('peakMemory'),
    memory: of('memory'),
    statements: of('statements'),
    others: rounds[0]?.others === undefined ? undefined : of('others'),
    cpuRatio: ratio('cpu'),
    speedRatio: ratio('perSecond'),
    memoryRatio: ratio('peakMemory'),
    rounds,
  };
}
