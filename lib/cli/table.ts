import { Help } from 'commander';
import stringWidth from 'string-width';

const GAP = '  ';
const MIN_WIDTH = 8;

/**
 * Formats a table with aligned columns, or as one list per row when the terminal is too narrow.
 *
 * @param shrinks - the column whose cells are shortened when the terminal is too narrow. Never a column of ids, because people copy ids
 */
export function table<Column extends string>(
  columns: readonly Column[],
  rows: readonly (readonly string[])[],
  shrinks?: NoInfer<Column>,
): string {
  const cells = [columns, ...rows.map((row) => row.map(printable))];
  const widths = columns.map((_, index) => Math.max(...cells.map((row) => stringWidth(row[index] ?? ''))));
  const excess = widths.reduce((sum, width) => sum + width + GAP.length, -GAP.length) - terminalWidth();
  const shrinking = columns.findIndex((title) => title === shrinks);
  if (excess > 0) {
    const room = (widths[shrinking] ?? 0) - excess;
    if (room < MIN_WIDTH)
      return rows.map((row) => properties(columns.map((title, index) => [title, row[index]!]))).join('\n\n');
    widths[shrinking] = room;
  }
  return cells
    .map((row) =>
      row
        .map((cell, index) => pad(cell, widths[index]!))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n');
}

/** `Infinity` when the output is not a terminal, so that no cell is shortened. */
function terminalWidth(): number {
  return process.stdout.columns ?? Infinity;
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

function pad(cell: string, width: number): string {
  const shown = shorten(cell, width);
  return shown + ' '.repeat(Math.max(width - stringWidth(shown), 0));
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
