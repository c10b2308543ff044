import { compare, OTHERS } from './comparison.ts';
import type { Other, Ratio } from './comparison.ts';
import { CONTESTANTS } from './contestants.ts';
import { figures, HEADINGS, targetRows } from './report.ts';
import type { WorkResult } from './result.ts';
import type { TargetResult } from './targets.ts';

/** The table of docs/review/performance.md, and behind it those of docs/review/performance-tables.md: each work, and the targets. */
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
    overview(results),
    ...works,
    `### Targets\n\n${table(['', 'value', 'target', ''], targetRows(targets))}`,
  ].join('\n\n');
}

function overview(results: readonly WorkResult[]): string {
  const comparisons = results.flatMap(compare);
  const others = (Object.keys(OTHERS) as Other[]).filter((other) =>
    comparisons.some(({ ratios }) => ratios.has(other)),
  );
  const rows = comparisons.map(({ what, own, ratios }) => {
    const ownFigures = [own.cpu.toFixed(own.cpu < 100 ? 1 : 0), own.perSecond.toFixed(0)];
    return [what].concat(ownFigures, others.map(cellOf(ratios)));
  });
  return table(['', 'CPU µs', 'per second', ...others.map((other) => OTHERS[other])], rows);
}

const cellOf = (ratios: ReadonlyMap<Other, Ratio>) => (other: Other) => {
  const ratio = ratios.get(other);
  if (ratio) return `${ratio.median.toFixed(2)} (${ratio.low.toFixed(2)} to ${ratio.high.toFixed(2)})`;
  return ratios.has(other) ? 'not sure' : '';
};

function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const lines = [headings, headings.map((_, column) => (column === 0 ? '---' : '--:')), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}
