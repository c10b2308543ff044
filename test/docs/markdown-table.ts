import type { Seconds } from '../../lib/contracts/index.ts';

/** The cells of a row. */
export type Row = readonly (string | number)[];

export function table(head: Row, rows: readonly Row[]): string {
  const line = (cells: Row): string => `${`| ${cells.join(' | ')}`.replaceAll('|  |', '| |')} |\n`;
  return [line(head), `${'|---'.repeat(head.length)}|\n`, ...rows.map(line)]
    .join('')
    .replaceAll('|  |', '| |');
}

const UNITS: readonly (readonly [string, Seconds])[] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** Such as `15 minutes`. */
export function span(seconds: Seconds): string {
  const [unit, length] = UNITS.find((one) => seconds % one[1] === 0) ?? ['second', 1];
  const number = seconds / length;
  return `${number} ${unit}${number === 1 ? '' : 's'}`;
}
