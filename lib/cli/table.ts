import { Help } from 'commander';
import stringWidth from 'string-width';

/** A column of a table. */
export interface Column {
  readonly title: string;
  readonly align?: 'left' | 'right';
  /** Whether its cells are shortened when the terminal is too narrow. Not for ids, which people copy. */
  readonly shrinks?: true;
}

const GAP = '  ';
const MIN_WIDTH = 8;

/**
 * Formats a table with aligned columns, or as one list per row when the terminal is too narrow.
 *
 * @param width - the width of the terminal; `undefined`: no cell is shortened
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
    return rows
      .map((row) => properties(columns.map(({ title }, index) => [title, row[index]!])))
      .join('\n\n');
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

/** Formats names and their values, one per line; several values of a name are below each other. */
export function properties(
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

/** Narrows the widest of the columns that shrink, step by step, until the table fits; `undefined` when it cannot fit. */
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
        columns[index]!.shrinks && one > MIN_WIDTH && one > (widths[best] ?? 0) ? index : best,
      -1,
    );
    if (excess <= 0) return widths;
    if (widest === -1) return undefined;
    widths[widest]! -= 1;
  }
}

function pad(cell: string, width: number, { align = 'left' }: Column): string {
  const shown = shorten(cell, width);
  const blanks = ' '.repeat(Math.max(width - stringWidth(shown), 0));
  return align === 'left' ? shown + blanks : blanks + shown;
}

const help = new Help();

/**
 * Breaks a text into lines that fit the terminal.
 *
 * @param first - the start of the first line; the other lines are indented by its width
 */
export function wrap(first: string, text: string): string {
  const columns = process.stdout.isTTY ? process.stdout.columns : Infinity;
  const lines = help.boxWrap(printable(text), columns - first.length).split('\n');
  return first + lines.join(`\n${' '.repeat(first.length)}`);
}

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Shortens a text to a number of terminal cells, with `…` at the end. */
function shorten(text: string, most: number): string {
  if (stringWidth(text) <= most) return text;
  let shortened = '';
  let width = 0;
  for (const { segment } of graphemes.segment(text)) {
    width += stringWidth(segment);
    if (width > most - 1) break;
    shortened += segment;
  }
  return `${shortened}…`;
}

/** Replaces the control characters of a text, which could move the cursor, change colours or reverse the text direction. */
function printable(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Bidi_Control}\u{2028}\u{2029}]/gu, '\u{FFFD}');
}
