import { ConfigError } from '../errors.ts';
import type { Length, PaperFormat } from './contract.ts';

/** In inches, upright. */
const SIZES: Readonly<Record<PaperFormat, readonly [width: number, height: number]>> = {
  a0: [33.1102, 46.811],
  a1: [23.3858, 33.1102],
  a2: [16.5354, 23.3858],
  a3: [11.6929, 16.5354],
  a4: [8.2677, 11.6929],
  a5: [5.8268, 8.2677],
  a6: [4.1339, 5.8268],
  letter: [8.5, 11],
  legal: [8.5, 14],
  tabloid: [11, 17],
  // The same paper as tabloid, with the long side horizontal.
  ledger: [17, 11],
};

/** A paper in inches, as it lies. */
export interface Paper {
  readonly width: number;
  readonly height: number;
}

/**
 * The paper of a format. `landscape` lays the long side horizontally; ledger is horizontal anyway.
 *
 * @throws ConfigError for an unknown format, with all names
 */
export function paperOf(format: unknown = 'a4', isLandscape = false): Paper {
  const name = typeof format === 'string' ? format.toLowerCase() : '';
  if (!Object.hasOwn(SIZES, name)) {
    throw new ConfigError('format', `give one of ${Object.keys(SIZES).join(', ')}`);
  }
  const [width, height] = SIZES[name as PaperFormat];
  return isLandscape && width < height ? { width: height, height: width } : { width, height };
}

const INCHES: Readonly<Record<string, number>> = {
  in: 1,
  cm: 1 / 2.54,
  mm: 1 / 25.4,
  pt: 1 / 72,
  px: 1 / 96,
};

/** A CSS length in inches. @throws ConfigError with the name of the option */
export function inchesOf(option: string, length: unknown): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(mm|cm|in|pt|px)$/.exec(String(length)) ?? [];
  if (typeof length === 'string' && number !== undefined) return Number(number) * INCHES[unit]!;
  throw new ConfigError(option, "give a length such as '2cm' or '15mm'; the units are mm, cm, in, pt and px");
}

/** The default margins. */
export const MARGIN: Length = '1cm';
export const MARGIN_WITH_TEXT: Length = '2cm';

/** Chromium prints a template without a size at 0, and its own text without a template. */
export function headerTemplate(html: string | undefined): string {
  if (html === undefined) return '<span></span>';
  return `<div style="box-sizing: border-box; width: 100%; padding: 0 1cm; font-size: 8pt">${html}</div>`;
}
