import { CONTESTANTS } from './contestants.ts';
import type { ContestantName } from './contestants.ts';
import { figures, HEADINGS, targetRows } from './report.ts';
import { findRow, ratioOf } from './result.ts';
import type { Compared, ResultRow, WorkResult } from './result.ts';
import type { TargetResult } from './targets.ts';

/** The columns of the first table. */
const COLUMNS: readonly ContestantName[] = [
  'floor',
  'plain',
  'plain-openid',
  'plain-knex',
  'node-oauth2-server',
  'better-auth',
  'gatehouse',
];

/** The columns with ratios of this package to others. */
const COMPARED: readonly ContestantName[] = [
  'plain',
  'plain-openid',
  'plain-knex',
  'node-oauth2-server',
  'better-auth',
];

/** A row of the first table for each work. */
interface Line {
  readonly what: string;
  readonly cell: (row: ResultRow) => string;
  readonly ratio: (own: ResultRow, other: ResultRow) => string;
}

const ratio = (figure: Compared) => (own: ResultRow, other: ResultRow) =>
  ratioOf(figure, own, other).toFixed(2);

const LINES: readonly Line[] = [
  {
    what: 'CPU µs (ops/s)',
    cell: ({ cpu, perSecond }) => `${cpu.toFixed(0)} (${perSecond.toFixed(0)})`,
    ratio: (own, other) => `${ratio('cpu')(own, other)} (${ratio('perSecond')(own, other)})`,
  },
  {
    what: 'p50 / p99 ms',
    cell: ({ p50, p99 }) => `${p50.toFixed(1)} / ${p99.toFixed(1)}`,
    ratio: (own, other) => `${ratio('p50')(own, other)} / ${ratio('p99')(own, other)}`,
  },
  {
    what: 'peak memory, MB',
    cell: ({ peakMemory }) => peakMemory.toFixed(0),
    ratio: ratio('peakMemory'),
  },
];

const START: readonly Line[] = [{ what: 'ms', cell: ({ p50 }) => p50.toFixed(0), ratio: ratio('p50') }];

/** The tables of docs/review/performance-tables.md: all operations at a glance, then each work and the targets. */
export function toMarkdown(
  conditions: string,
  results: readonly WorkResult[],
  targets: readonly TargetResult[],
): string {
  const works = results.map(({ name, about, rows }) => {
    const cells = rows.map((row) => [row.contestant, ...figures(row), CONTESTANTS[row.contestant].about]);
    return `### ${name}\n\n${about}\n\n${table(HEADINGS, cells)}`;
  });
  return [
    conditions,
    overview(results.filter(({ reference }) => reference === 'plain')),
    ...works,
    `### Targets\n\n${table(['', 'value', 'target', ''], targetRows(targets))}`,
  ].join('\n\n');
}

function overview(results: readonly WorkResult[]): string {
  const measured = new Set(results.flatMap(({ rows }) => rows.map(({ contestant }) => contestant)));
  const columns = COLUMNS.filter((name) => measured.has(name));
  const compared = COMPARED.filter((name) => measured.has(name));
  const rows = results.flatMap((result) =>
    (['gatehouse', 'gatehouse-json'] as const).flatMap((own) => {
      const ownRow = findRow(result, own);
      const name = own === 'gatehouse' ? result.name : `${result.name}, JSON`;
      return ownRow ? linesOf(result, name, ownRow, { columns, compared }) : [];
    }),
  );
  return table(['work', ...columns, ...compared.map((name) => `gatehouse / ${name}`)], rows);
}

function linesOf(
  result: WorkResult,
  name: string,
  own: ResultRow,
  { columns, compared }: { columns: readonly ContestantName[]; compared: readonly ContestantName[] },
): string[][] {
  return (name === 'start-up' ? START : LINES).map((line) => {
    const cells = columns.map((column) => {
      const row = column === 'gatehouse' ? own : findRow(result, column);
      return row ? line.cell(row) : '';
    });
    const ratios = compared.map((other) => {
      const row = findRow(result, other);
      return row ? line.ratio(own, row) : '';
    });
    return [`${name}: ${line.what}`].concat(cells, ratios);
  });
}

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map((_, column) => (column === 0 ? '---' : '--:')), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
