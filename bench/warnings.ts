import type { ResultRow, WorkResult } from './result.ts';
import { spread } from './statistics.ts';

/** How much of the machine others may take, from 0 to 1, before the figures say little. */
const MOST_OTHERS = 0.1;

/** How far the rounds of one contestant may be apart. */
const MOST_SPREAD = 1.25;

/** Why the figures of a work should not be trusted; empty when they may. */
export function warningsOf({ name, rows }: WorkResult): string[] {
  const warnings: string[] = [];
  // A database server counts among the others.
  const ownMachine = rows.filter(({ contestant }) => contestant !== 'gatehouse-postgresql');
  const others = Math.max(0, ...ownMachine.map(({ others: share = 0 }) => share));
  if (others > MOST_OTHERS)
    warnings.push(`${name}: others took ${Math.round(others * 100)} % of the machine meanwhile`);
  const uneven = rows.filter(({ rounds }) => cpuSpread(rounds) > MOST_SPREAD);
  if (uneven.length > 0) {
    const named = uneven.map((row) => `${row.contestant} ${cpuSpread(row.rounds).toFixed(2)} x`).join(', ');
    warnings.push(`${name}: the CPU time of an operation differs from round to round: ${named}`);
  }
  return warnings;
}

function cpuSpread(rounds: ResultRow['rounds']): number {
  return spread(rounds.map(({ cpu }) => cpu));
}
