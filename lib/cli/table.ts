import { Help } from 'commander';
import stringWidth from 'string-width';

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Cut when the terminal is too narrow. Ids are not: people copy them. */
  readonly shrinks?: true;
}

const GAP = '  ';
const LEAST = 8;

/**
 * Writes a table with its columns aligned, or, where a terminal is too narrow for it, row by row.
 *
 * @param width - of the terminal; without one nothing is cut
 */
export function table(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  width: number | undefined = process.stdout.columns,
): string {
  const cells = [columns.map(({ title }) => title), ...rows.map((row) => row.map(printable))];
  const natural = columns.map((_, index) => Math.max(...cells.map((row) => stringWidth(row[index] ?? ''))));
  const widths = width === undefined ? natural : fit(columns, natural, width);
  if (!widths) {
    return rows.map((row) => facts(columns.map(({ title }, index) => [title, row[index]!]))).join('\n\n');
  }
  return cells
    .map((row) =>
      row
        .map((cell, index) => pad(cell, widths[index]!, columns[index]!))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** Names and their values, one on each line; several values of a name are below each other. */
export function facts(
  entries: readonly (readonly [name: string, value: string | readonly string[]])[],
): string {
  const width = Math.max(...entries.map(([name]) => stringWidth(name)));
  return entries
    .flatMap(([name, value]) => {
      const [first = '–', ...rest] = [value].flat();
      return [
        `${name.padEnd(width)}${GAP}${printable(first)}`,
        ...rest.map((one) => `${' '.repeat(width)}${GAP}${printable(one)}`),
      ];
    })
    .join('\n');
}

/** Takes cells from the widest of the columns that shrink until the table fits; `undefined` when none can give more. */
function fit(
  columns: readonly Column[],
  natural: readonly number[],
  width: number,
): readonly number[] | undefined {
  const widths = [...natural];
  const room = width - GAP.length * (columns.length - 1);
  for (;;) {
    const excess = widths.reduce((sum, one) => sum + one, 0) - room;
    const widest = widths.reduce(
      (best, one, index) =>
        columns[index]!.shrinks && one > LEAST && one > (widths[best] ?? 0) ? index : best,
      -1,
    );
    if (excess <= 0) return widths;
    if (widest === -1) return undefined;
    widths[widest]! -= 1;
  }
}

function pad(cell: string, width: number, { align = 'left' }: Column): string {
  const shown = cut(cell, width);
  const blanks = ' '.repeat(Math.max(width - stringWidth(shown), 0));
  return align === 'left' ? shown + blanks : blanks + shown;
}

const help = new Help();

/**
 * Breaks a text into lines that fit the terminal, all but the first one indented.
 *
 * @param first - what the text begins with, as wide as the indentation
 */
export function wrap(first: string, text: string): string {
  const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const lines = help.boxWrap(printable(text), columns - first.length).split('\n');
  return first + lines.join(`\n${' '.repeat(first.length)}`);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Cuts a text to a number of cells; `…` stands for the rest. */
function cut(text: string, most: number): string {
  if (stringWidth(text) <= most) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += stringWidth(segment);
    if (width > most - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The text without what would move the cursor, change colours or turn the direction of reading. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u{2028}\u{2029}]/gu, '\u{FFFD}');
}
