import { ConfigError } from '../errors.ts';
import { isObject, optional, readOptions } from '../options/declare.ts';
import type { Check, Given, Values } from '../options/declare.ts';

/** The size of a paper in inches, in the orientation in which it is printed. */
export interface Paper {
  readonly width: number;
  readonly height: number;
}

/** All sizes are upright except ledger, which is tabloid with the long side horizontal. */
const PAPERS = {
  a0: { width: 33.1102, height: 46.811 },
  a1: { width: 23.3858, height: 33.1102 },
  a2: { width: 16.5354, height: 23.3858 },
  a3: { width: 11.6929, height: 16.5354 },
  a4: { width: 8.2677, height: 11.6929 },
  a5: { width: 5.8268, height: 8.2677 },
  a6: { width: 4.1339, height: 5.8268 },
  letter: { width: 8.5, height: 11 },
  legal: { width: 8.5, height: 14 },
  tabloid: { width: 11, height: 17 },
  ledger: { width: 17, height: 11 },
} satisfies Record<string, Paper>;

/**
 * The names of paper sizes (ISO 216, ANSI/ASME Y14.1).
 *
 * @useDeclaredType
 */
export type PaperFormat = keyof typeof PAPERS;

export const paper: Check<PaperFormat | Uppercase<PaperFormat>, Paper> = (place, given: unknown) => {
  const name = typeof given === 'string' ? given.toLowerCase() : '';
  if (Object.hasOwn(PAPERS, name)) return PAPERS[name as PaperFormat];
  throw new ConfigError(place, `give one of ${Object.keys(PAPERS).join(', ')}`);
};

/** A CSS length: a number and `mm`, `cm`, `in`, `pt` or `px`. */
export type Length = `${number}${'mm' | 'cm' | 'in' | 'pt' | 'px'}`;

/** CSS pixels in an inch (CSS Values 4 section 6.2). */
export const PIXELS = 96;

const INCHES: Readonly<Record<string, number>> = {
  in: 1,
  cm: 1 / 2.54,
  mm: 1 / 25.4,
  pt: 1 / 72,
  px: 1 / PIXELS,
};

/** A length in inches; `undefined` when the text is not a length. */
export function inchesOf(text: string): number | undefined {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(mm|cm|in|pt|px)$/.exec(text) ?? [];
  return number === undefined ? undefined : Number(number) * INCHES[unit]!;
}

/** Returns the length in inches. */
const length: Check<Length, number> = (place, given: unknown) => {
  const inches = typeof given === 'string' ? inchesOf(given) : undefined;
  if (inches !== undefined) return inches;
  throw new ConfigError(place, "give a length such as '2cm' or '15mm'; the units are mm, cm, in, pt and px");
};

const MARGINS = {
  top: optional(length),
  right: optional(length),
  bottom: optional(length),
  left: optional(length),
};

/** The margins of the four sides. */
export interface Margins extends Given<typeof MARGINS> {}

/** A side that is not given is `undefined`. */
export const margins: Check<Length | Margins, Values<typeof MARGINS>> = (place, given) => {
  if (isObject(given)) return readOptions(MARGINS, given, place);
  const all = length(place, given);
  return { top: all, right: all, bottom: all, left: all };
};

/** The default margins, in inches: 1 cm, and 2 cm at a side with a header or a footer. */
export const MARGIN: number = 1 / 2.54;
export const MARGIN_WITH_TEXT: number = 2 / 2.54;

/**
 * Wraps a template with a size, because Chromium prints a template without one at size 0. Without a template, it would print its own
 * text.
 */
export function headerTemplate(html: string | undefined): string {
  if (html === undefined) return '<span></span>';
  return `<div style="box-sizing: border-box; width: 100%; padding: 0 1cm; font-size: 8pt">${html}</div>`;
}
