import type { ResultRow, WorkResult } from './result.ts';
import { spread } from './statistics.ts';

/** The share of CPU time of other processes, from 0 to 1, above which figures are unreliable. */
const MOST_OTHERS = 0.1;

/** The ratio of CPU times of rounds above which figures are unreliable. */
const MOST_SPREAD = 1.25;

/** The reasons why the figures of a work are unreliable; empty if there are none. */
export function warningsOf({ name, rows }: WorkResult): string[] {
  const warnings: string[] = [];
  const others = Math.max(0, ...rows.filter(onOwnMachine).map(({ others: share = 0 }) => share));
  if (others > MOST_OTHERS)
    warnings.push(`${name}: other processes used ${Math.round(others * 100)} % of the CPU time`);
  const uneven = rows.filter(({ rounds }) => cpuSpread(rounds) > MOST_SPREAD);
  if (uneven.length > 0) {
    const named = uneven.map((row) => `${row.contestant} ${cpuSpread(row.rounds).toFixed(2)} x`).join(', ');
    warnings.push(`${name}: the CPU time of an operation differs from round to round: ${named}`);
  }
  return warnings;
}

/** How noisy the machine was, in a sentence. */
export function noiseOf(results: readonly WorkResult[]): string {
  const rows = results.flatMap((result) => result.rows);
  const others = Math.max(0, ...rows.filter(onOwnMachine).map(({ others: share = 0 }) => share));
  const uneven = Math.max(...rows.map(({ rounds }) => cpuSpread(rounds)));
  return `Other processes used up to ${Math.round(others * 100)} % of the CPU time, and the same operation took up to ${uneven.toFixed(1)} times as long in one round as in another.`;
}

// A database server is another process.
const onOwnMachine = ({ contestant }: ResultRow): boolean => !contestant.includes('postgresql');

function cpuSpread(rounds: ResultRow['rounds']): number {
  return spread(rounds.map(({ cpu }) => cpu));
}
