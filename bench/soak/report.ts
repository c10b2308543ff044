import type { Checker } from './checker.ts';
import type { Outcome } from './run.ts';
import type { Violation } from './verdicts.ts';

const SHOWN = 5;

/** The tables of a run. */
export function report(outcome: Outcome, { markdown }: { markdown: boolean }): string {
  const format = markdown ? markdownTable : plainTable;
  const answered = [...outcome.answers.values()].flatMap((counts) => Array.from(counts.keys()));
  const statuses = [...new Set(answered)].toSorted((a, b) => a - b);
  const headings = ['', 'all', ...statuses.map((status) => (status === 0 ? 'no answer' : String(status)))];
  const rows = [...outcome.answers]
    .map(([kind, counts]) => ({ kind, counts, all: sum(counts.values()) }))
    .toSorted((a, b) => b.all - a.all)
    .map(({ kind, counts, all }) =>
      [kind, count(all)].concat(
        statuses.map((status) => (counts.has(status) ? count(counts.get(status)!) : '')),
      ),
    );
  return `${format([headings, ...rows])}\n\n${format(summary(outcome))}\n`;
}

function summary(outcome: Outcome): string[][] {
  const { checker, database, driverCpu, elapsed, kills, nodes, nodesCpu, operations, seed } = outcome;
  const unknown = sum([...outcome.answers.values()].map((counts) => counts.get(0) ?? 0));
  return [
    [
      'database',
      'nodes',
      'kills',
      'operations',
      'no answer',
      'ops/s',
      'time',
      'CPU nodes',
      'CPU driver',
      'seed',
      'wrong answers',
    ],
    [
      database,
      String(nodes),
      count(kills),
      count(operations),
      count(unknown),
      count(Math.round((operations * 1000) / elapsed)),
      duration(elapsed),
      nodesCpu === 0 ? '' : duration(nodesCpu),
      duration(driverCpu),
      String(seed),
      count(checker.violationCount),
    ],
  ];
}

/** The first wrong answers in full, and what the servers have logged as errors. */
export function reportViolations(
  { violationCount, violations }: Pick<Checker, 'violations' | 'violationCount'>,
  errors: readonly string[] = [],
): string {
  if (violationCount === 0) return '';
  const lines = violations.slice(0, SHOWN).map(describe);
  if (violationCount > lines.length) lines.push(`and ${count(violationCount - lines.length)} more`);
  const logged = errors.slice(0, SHOWN).map((error) => `logged by ${error}`);
  return `${[...lines, ...logged].join('\n')}\n`;
}

function describe({ begun, ended, rule, what }: Violation): string {
  return `${rule}: ${what}\n  begun ${JSON.stringify(begun)}\n  ended ${JSON.stringify(ended)}`;
}

function plainTable([headings = [], ...rows]: readonly (readonly string[])[]): string {
  const lines = [headings, ...rows];
  const widths = headings.map((_, column) => Math.max(...lines.map((row) => row[column]!.length)));
  return lines
    .map((row) =>
      row
        .map((cell, column) => align(cell, widths[column]!, column))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function align(cell: string, width: number, column: number): string {
  return column === 0 ? cell.padEnd(width) : cell.padStart(width);
}

function markdownTable([headings = [], ...rows]: readonly (readonly string[])[]): string {
  const rule = headings.map((_, column) => (column === 0 ? '---' : '--:'));
  return [headings, rule, ...rows].map((row) => `| ${row.join(' | ')} |`).join('\n');
}

export function count(amount: number): string {
  return amount.toLocaleString('en');
}

/** @param milliseconds - shown as `12 s` or `1 h 02 min` */
export function duration(milliseconds: number): string {
  const seconds = Math.round(milliseconds / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, '0')} min`;
}

function sum(amounts: Iterable<number>): number {
  let total = 0;
  for (const amount of amounts) total += amount;
  return total;
}
