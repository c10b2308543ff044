import type { PDFPageProxy } from 'pdfjs-dist/legacy/build/pdf.mjs';

type Item = Awaited<ReturnType<PDFPageProxy['getTextContent']>>['items'][number];
type Box = readonly [left: number, bottom: number, right: number, top: number];

/** Text on one base line. Lengths are in points (1/72 inch). */
export interface Line {
  readonly text: string;
  /** Of the font. */
  readonly size: number;
  readonly baseline: number;
  readonly box: Box;
}

/** Consecutive lines of one size. */
export interface Paragraph {
  readonly content: string;
  readonly size: number;
  readonly page: number;
  readonly box: Box;
}

/** Joins the text items of a page to lines, in drawing order. */
export function linesOf(items: readonly Item[]): Line[] {
  const lines: Line[] = [];
  for (const item of items) {
    // Skip structure markers and blanks; gaps follow from the positions of the text.
    if (!('str' in item) || item.str.trim() === '') continue;
    const piece = lineOf(item);
    const line = lines.at(-1);
    if (line && continues(line, piece)) lines[lines.length - 1] = joined(line, piece);
    else lines.push(piece);
  }
  return lines;
}

function lineOf({ str, transform, width }: Extract<Item, { str: string }>): Line {
  const [, , skew = 0, scale = 0, left = 0, baseline = 0] = transform.map(Number);
  const size = Math.round(Math.hypot(skew, scale) * 2) / 2;
  // Descenders take about a fifth of the size below the base line.
  const box = [left, baseline - size / 5, left + width, baseline + (size * 4) / 5] as const;
  return { text: str, size, baseline, box };
}

function continues(line: Line, piece: Line): boolean {
  const sameHeight = Math.abs(line.baseline - piece.baseline) < Math.max(line.size, piece.size) / 2;
  return sameHeight && piece.box[0] > line.box[2] - line.size;
}

function joined(line: Line, piece: Line): Line {
  const gap = piece.box[0] - line.box[2];
  const hasSpace = line.text.endsWith(' ') || piece.text.startsWith(' ');
  const space = gap > line.size / 6 && !hasSpace ? ' ' : '';
  const larger = piece.size > line.size ? piece : line;
  return {
    text: line.text + space + piece.text,
    size: larger.size,
    baseline: larger.baseline,
    box: around(line.box, piece.box),
  };
}

/** Joins lines of one size that follow each other closely. */
export function paragraphsOf(lines: readonly Line[], page: number): Paragraph[] {
  const paragraphs: Paragraph[] = [];
  let last: Line | undefined;
  for (const line of lines) {
    const current = paragraphs.at(-1);
    const { text, size, box } = line;
    const content = text.replaceAll(/\s+/g, ' ').trim();
    if (current && last && follows(last, line)) {
      paragraphs[paragraphs.length - 1] = {
        ...current,
        content: current.content + (current.content.endsWith('-') ? '' : ' ') + content,
        box: around(current.box, box),
      };
    } else {
      paragraphs.push({ content, size, page, box });
    }
    last = line;
  }
  return paragraphs;
}

function follows(line: Line, next: Line): boolean {
  const advance = line.baseline - next.baseline;
  return next.size === line.size && advance > 0 && advance < line.size * 1.5;
}

function around(a: Box, b: Box): Box {
  return [Math.min(a[0], b[0]), Math.min(a[1], b[1]), Math.max(a[2], b[2]), Math.max(a[3], b[3])];
}
