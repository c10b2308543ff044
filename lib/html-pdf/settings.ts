import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import type { Duration } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { optional, readOptions, unchecked } from '../options/declare.ts';
import type { Optional } from '../options/declare.ts';
import { checkKnownOptions } from '../options/known-options.ts';
import { abortSignal, boolean, fn, integer, oneOf, wait } from '../options/values.ts';
import type { Asset, HtmlPdfOptions, Margins, PaperFormat } from './contract.ts';
import { inchesOf, MARGIN, MARGIN_WITH_TEXT, paperOf } from './paper.ts';
import type { Paper } from './paper.ts';

/** Options of `createHtmlToPdf()`. */
export interface HtmlToPdfOptions {
  /**
   * Chromium or its `chromium-headless-shell`, which needs half the memory and time.
   * @default the first of those that Debian, Chrome and macOS install
   */
  readonly executablePath?: string | undefined;
  /** How many documents are converted at a time. @default the number of processors */
  readonly maxConcurrency?: number | undefined;
  /** How many conversions may wait for their turn; further ones fail with `ERR_HTML_PDF_FULL`. @default 100 */
  readonly maxQueue?: number | undefined;
  /** How long one conversion may take, without the wait for its turn. @default '30 seconds' */
  readonly timeout?: Duration | undefined;
  /** After how many documents the browser is replaced by a new one, so that its memory does not grow. @default 500 */
  readonly recycleAfter?: number | undefined;
  /** The largest document, in bytes. @default 16_777_216 */
  readonly maxHtmlBytes?: number | undefined;
  /**
   * How much memory the browser may use, in bytes; over it, it is ended, with its documents. Looked at on Linux, every quarter of
   * a second. @default 2_147_483_648
   */
  readonly maxMemory?: number | undefined;
  /**
   * Chromium's sandbox, which separates a document from this machine. It does not start as root. `false`: only in a container
   * or for HTML that you trust.
   * @default true
   */
  readonly sandbox?: boolean | undefined;
  /**
   * Returns the image that a document names by a relative URL: `logo.png`, for `<img src="logo.png">`. `undefined`: there is
   * none. Never pass the path to the file system unchecked; the document chooses it.
   * @default documents have no images but those in `data:` URLs
   */
  readonly assets?: ((path: string) => Asset | undefined | Promise<Asset | undefined>) | undefined;
  /**
   * What happens to a document that names a file which it does not get: an image that `assets` does not return, or anything of
   * another host, or a font, style sheet or frame that is not in the document itself. `'print'`: it is printed without it, and
   * `observe` is told. `'error'`: the conversion fails with `ERR_HTML_PDF_MISSING`, which names the files.
   * @default 'print'
   */
  readonly onMissing?: 'print' | 'error' | undefined;
  /** Called at each step, for logs and metrics. An error that it throws is ignored. */
  readonly observe?: ((event: HtmlPdfEvent) => void) | undefined;
}

/** A step of a conversion or of the browser. Times are in milliseconds. */
export type HtmlPdfEvent =
  | { readonly type: 'browser_started'; readonly ms: number }
  | { readonly type: 'browser_ended'; readonly documents: number; readonly reason: BrowserEnd }
  | { readonly type: 'started'; readonly waited: number; readonly waiting: number }
  | {
      readonly type: 'missing';
      /** The first twenty files that a document names and did not get: relative URLs as written, others without their query. */
      readonly files: readonly string[];
    }
  | { readonly type: 'finished'; readonly ms: number; readonly bytes: number }
  | { readonly type: 'failed'; readonly ms: number; readonly code: string };

/** Why a browser ended. */
export type BrowserEnd = 'closed' | 'crashed' | 'memory' | 'recycled' | 'unresponsive';

/** The options of a converter, checked and complete. */
export interface ConverterSettings {
  readonly executablePath: string;
  readonly maxConcurrency: number;
  readonly maxQueue: number;
  /** In milliseconds. */
  readonly timeout: number;
  readonly recycleAfter: number;
  readonly maxHtmlBytes: number;
  readonly maxMemory: number;
  readonly sandbox: boolean;
  readonly assets: HtmlToPdfOptions['assets'];
  readonly onMissing: 'print' | 'error';
  readonly observe: (event: HtmlPdfEvent) => void;
}

/** In bytes. */
export const maxHtmlBytes: Optional<number, number> = optional(integer(1), 16 * 2 ** 20);

const CONVERTER = {
  executablePath: optional(checkExecutable),
  maxConcurrency: optional(integer(1), availableParallelism()),
  maxQueue: optional(integer(0), 100),
  timeout: optional(wait(1), '30 seconds'),
  recycleAfter: optional(integer(1), 500),
  maxHtmlBytes,
  maxMemory: optional(integer(1), 2 ** 31),
  sandbox: optional(checkSandbox, true),
  assets: optional(fn<NonNullable<HtmlToPdfOptions['assets']>>()),
  onMissing: optional(oneOf('print', 'error'), 'print'),
  observe: optional(fn<(event: HtmlPdfEvent) => void>()),
} satisfies Record<keyof HtmlToPdfOptions, unknown>;

/** Checks the options of a converter. @throws ConfigError with the option and the remedy */
export function readConverterSettings(options: HtmlToPdfOptions): ConverterSettings {
  checkKnownOptions(options, CONVERTER, 'createHtmlToPdf()');
  const { observe, ...settings } = readOptions(CONVERTER, options);
  return {
    ...settings,
    executablePath: settings.executablePath ?? findExecutable(),
    observe(event) {
      try {
        observe?.(event);
      } catch {
        // Documented as ignored: a fault of a metric must not cost the document.
      }
    },
  };
}

const EXECUTABLES: readonly string[] = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

function checkExecutable(place: string, given: string): string {
  if (typeof given === 'string' && existsSync(given)) return given;
  throw new ConfigError(place, 'there is no such file; give the path of Chromium or leave it out');
}

function findExecutable(): string {
  const found = EXECUTABLES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new ConfigError(
    'executablePath',
    'no Chromium was found; install it with `apt-get install chromium-headless-shell`, or give its path',
  );
}

function checkSandbox(place: string, given: boolean): boolean {
  const sandbox = boolean(place, given);
  if (sandbox && process.getuid?.() === 0) {
    throw new ConfigError(
      'sandbox',
      "Chromium's sandbox does not start as root; run as another user, or pass false where a container is the sandbox",
    );
  }
  return sandbox;
}

/** The options of one document, checked and complete; lengths in inches. */
export interface DocumentSettings {
  readonly paper: Paper;
  readonly margin: Readonly<Record<keyof Margins, number>>;
  /** The sides whose margin was given, and not left to the document. */
  readonly givenMargins: readonly (keyof Margins)[];
  readonly header: string | undefined;
  readonly footer: string | undefined;
  /** In milliseconds; `undefined`: that of the converter. */
  readonly timeout: number | undefined;
  readonly signal: AbortSignal | undefined;
}

const DOCUMENT = {
  format: optional(unchecked<PaperFormat | Uppercase<PaperFormat>>),
  landscape: optional(boolean, false),
  margin: optional(unchecked<NonNullable<HtmlPdfOptions['margin']>>, {}),
  header: optional(html),
  footer: optional(html),
  timeout: optional(wait(1)),
  signal: optional(abortSignal),
} satisfies Record<keyof HtmlPdfOptions, unknown>;

/** Checks the options of one document. @throws ConfigError with the option and the remedy */
export function readDocumentSettings(options: HtmlPdfOptions): DocumentSettings {
  checkKnownOptions(options, DOCUMENT, 'convert()');
  const { format, landscape, margin, ...settings } = readOptions(DOCUMENT, options);
  const given = typeof margin === 'object' && margin !== null ? checkSides(margin) : sameOnAllSides(margin);
  const side = (name: keyof Margins, text?: string): number =>
    inchesOf(`margin.${name}`, given[name] ?? (text === undefined ? MARGIN : MARGIN_WITH_TEXT));
  return {
    ...settings,
    paper: paperOf(format, landscape),
    margin: {
      top: side('top', settings.header),
      bottom: side('bottom', settings.footer),
      left: side('left'),
      right: side('right'),
    },
    givenMargins: SIDES.filter((name) => given[name] !== undefined),
  };
}

const SIDES = ['top', 'right', 'bottom', 'left'] as const;

function checkSides(margin: Margins): Margins {
  return checkKnownOptions(margin, { top: true, right: true, bottom: true, left: true }, 'margin');
}

function sameOnAllSides(margin: Margins['top']): Margins {
  inchesOf('margin', margin);
  return { top: margin, right: margin, bottom: margin, left: margin };
}

function html(place: string, given: string): string {
  if (typeof given === 'string') return given;
  throw new ConfigError(place, 'give HTML as a string, or leave it out');
}
