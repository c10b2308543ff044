import { CONTESTANTS } from './contestants.ts';
import type { ProfileSummary, Share } from './profile.ts';
import type { ResultRow, WorkResult } from './result.ts';
import type { TargetResult } from './targets.ts';

/** The table of a work. */
export function reportWork({ name, about, rows }: WorkResult): string {
  const cells = rows.map((row) => [row.contestant, ...figures(row), CONTESTANTS[row.contestant].about]);
  return `${name}: ${about}\n${table([HEADINGS, ...cells])}\n`;
}

export const HEADINGS: readonly string[] = [
  '',
  'CPU us',
  'x',
  'ops/s',
  'x',
  'p50 ms',
  'x',
  'p99 ms',
  'MB',
  'queries',
  'others',
  '',
];

export function figures(row: ResultRow): string[] {
  return [
    row.cpu.toFixed(row.cpu < 100 ? 1 : 0),
    row.cpuRatio.toFixed(2),
    row.perSecond.toFixed(row.perSecond < 100 ? 1 : 0),
    row.speedRatio.toFixed(2),
    row.p50.toFixed(2),
    row.p50Ratio.toFixed(2),
    row.p99.toFixed(2),
    row.peakMemory.toFixed(0),
    row.statements === 0 ? '' : row.statements.toFixed(2),
    row.others === undefined ? '' : `${Math.round(row.others * 100)} %`,
  ];
}

export function reportTargets(targets: readonly TargetResult[]): string {
  return `Targets\n${table(targetRows(targets))}\n`;
}

export function targetRows(targets: readonly TargetResult[]): string[][] {
  return targets.map(({ work, contestant, what, value, atMost, met }) => [
    met ? 'met' : 'missed',
    value.toFixed(2),
    `at most ${atMost.toFixed(2)}`,
    `${work}, ${contestant}: ${what}`,
  ]);
}

export function reportProfile(title: string, { busy, functions, packages }: ProfileSummary): string {
  const lines = (shares: readonly Share[], count: number) =>
    shares.slice(0, count).map(({ name, share }) => {
      const percent = (share * 100).toFixed(1).padStart(5);
      return `  ${percent} % ${(share * busy).toFixed(1).padStart(6)} us  ${name}`;
    });
  return [
    `${title}: the main thread is busy for ${busy.toFixed(0)} us each`,
    'by package',
    ...lines(packages, 12),
    'by function',
    ...lines(functions, 25),
    '',
  ].join('\n');
}

function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]!.length)));
  const last = widths.length - 1;
  return rows
    .map((row) =>
      row
        .map((cell, column) =>
          column === 0 || column === last ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!),
        )
        .join('  ')
        .trimEnd(),
    )
    .map((line) => `  ${line}`)
    .join('\n');
}
