import { existsSync } from 'node:fs';
import { availableParallelism } from 'node:os';

import type { Seconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { optional, readOptions } from '../options/declare.ts';
import type { Check, Given, Optional, Values } from '../options/declare.ts';
import { abortSignal, boolean, fn, integer, oneOf, wait } from '../options/values.ts';
import { MARGIN, MARGIN_WITH_TEXT, margins, paper } from './paper.ts';
import type { Margins, Paper } from './paper.ts';

/** A file that a document names by a relative URL. */
export interface Asset {
  readonly data: Uint8Array;
  /** Its media type; only images are loaded. */
  readonly type: `image/${string}`;
}

/** A step of a conversion or of the browser. Times are in seconds, with fractions. */
export type HtmlToPdfEvent =
  | { readonly type: 'browser_started'; readonly seconds: Seconds }
  | { readonly type: 'browser_ended'; readonly documents: number; readonly reason: BrowserEnd }
  | { readonly type: 'started'; readonly waited: Seconds; readonly waiting: number }
  | {
      readonly type: 'missing';
      /** The first twenty files that a document names and did not get: relative URLs as written, other URLs without their query. */
      readonly files: readonly string[];
    }
  | {
      /** The document is wider than the part of it that is printed. */
      readonly type: 'cut';
      /** In CSS pixels. */
      readonly width: number;
      readonly printed: number;
    }
  | { readonly type: 'finished'; readonly seconds: Seconds; readonly bytes: number }
  | { readonly type: 'failed'; readonly seconds: Seconds; readonly code: string };

/** Why a browser ended. */
export type BrowserEnd = 'closed' | 'crashed' | 'memory' | 'recycled' | 'unresponsive';

const executable: Check<string> = (place, given) => {
  if (typeof given === 'string' && existsSync(given)) return given;
  throw new ConfigError(place, 'there is no such file; give the path of Chromium or leave it out');
};

const sandbox: Check<boolean> = (place, given) => {
  const isOn = boolean(place, given);
  if (isOn && process.getuid?.() === 0) {
    throw new ConfigError(
      place,
      "Chromium's sandbox does not start as root; run as another user, or pass false where a container is the sandbox",
    );
  }
  return isOn;
};

/** The largest document, in bytes. */
export const maxHtmlBytes: Optional<number, number> = optional(integer(1), 16 * 2 ** 20);

const CONVERTER = {
  /**
   * The path of Chromium, or of its `chromium-headless-shell`, which needs half the memory and time.
   * @default the first of those that Debian, Chrome and macOS install
   */
  executablePath: optional(executable),
  /** How many documents are converted at a time. @default the number of processors */
  concurrency: optional(integer(1), availableParallelism()),
  /** How many conversions may wait for their turn; further conversions fail with `ERR_HTML_TO_PDF_FULL`. @default 100 */
  maxQueue: optional(integer(0), 100),
  /** How long one conversion may take, without the wait for its turn. @default '30 seconds' */
  timeout: optional(wait(1), '30 seconds'),
  /** After how many documents the browser is replaced by a new one, so that its memory does not grow. @default 500 */
  recycleAfter: optional(integer(1), 500),
  /** The largest document, in bytes. @default 16_777_216 */
  maxHtmlBytes,
  /**
   * How much memory the browser may use, in bytes; a browser that uses more is ended, with its documents. Checked every quarter of a
   * second, on Linux only. @default 2_147_483_648
   */
  maxMemory: optional(integer(1), 2 ** 31),
  /**
   * Whether to use Chromium's sandbox, which separates a document from this machine. It does not start as root. Set it to `false` only in
   * a container or for HTML that you trust.
   * @default true
   */
  sandbox: optional(sandbox, true),
  /**
   * Returns the image that a document names by a relative URL: `logo.png`, for `<img src="logo.png">`. Return `undefined` when there is
   * none. Never pass the path to the file system unchecked, because the document chooses it.
   * @default documents have no images but those in `data:` URLs
   */
  assets: optional(fn<(path: string) => Asset | undefined | Promise<Asset | undefined>>()),
  /**
   * What happens to a document that names a file which it does not get: an image that `assets` does not return, anything of another host,
   * or a font, style sheet or frame that is not in the document itself. With `'print'`, the document is printed without the file, and
   * `onEvent` is called. With `'error'`, the conversion fails with `ERR_HTML_TO_PDF_MISSING`, which names the files.
   * @default 'print'
   */
  onMissing: optional(oneOf('print', 'error'), 'print'),
  /** Called at each step, for logs and metrics. An error that it throws is ignored. */
  onEvent: optional(fn<(event: HtmlToPdfEvent) => void>(), () => {}),
};

/** Options of `createHtmlToPdf()`. */
export interface HtmlToPdfOptions extends Given<typeof CONVERTER> {}

/** The options of a converter, checked and complete. */
export interface ConverterSettings extends Values<typeof CONVERTER> {
  readonly executablePath: string;
}

/** Checks the options of a converter. @throws ConfigError with the option and the remedy */
export function readConverterSettings(options: HtmlToPdfOptions): ConverterSettings {
  const { onEvent, ...settings } = readOptions(CONVERTER, options, 'createHtmlToPdf()');
  return {
    ...settings,
    executablePath: settings.executablePath ?? findExecutable(),
    onEvent(event) {
      try {
        onEvent(event);
      } catch {
        // Ignored, as documented: a fault of a metric must not cost the document.
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

function findExecutable(): string {
  const found = EXECUTABLES.find((path) => existsSync(path));
  if (found !== undefined) return found;
  throw new ConfigError(
    'createHtmlToPdf({ executablePath })',
    'no Chromium was found; install it with `apt-get install chromium-headless-shell`, or give its path',
  );
}

const html: Check<string> = (place, given: unknown) => {
  if (typeof given === 'string') return given;
  throw new ConfigError(place, 'give HTML as a string, or leave it out');
};

const DOCUMENT = {
  /** The paper size, in upper or lower case. It is used instead of the size of the document's own `@page` rule. @default 'a4' */
  format: optional(paper, 'a4'),
  /** @default false */
  landscape: optional(boolean, false),
  /**
   * The margins of each page as CSS lengths, such as `'2cm'`: one for all sides, or some of the four. A document's own `@page`
   * margin has precedence over a side that is not given.
   * @default '1cm', and '2cm' at a side with a header or a footer
   */
  margin: optional(margins, {}),
  /**
   * HTML at the top of each page. Elements of the classes `pageNumber`, `totalPages`, `title` and `date` are filled in. The header has
   * only styles of its own, not the document's, and loads nothing.
   * @default none
   */
  header: optional(html),
  /** HTML at the bottom of each page, as for `header`: `Page <span class="pageNumber"></span>`. @default none */
  footer: optional(html),
  /**
   * What happens to a document that is wider than the paper. Chromium itself makes a document smaller that is up to half wider than the
   * paper. With `'actual'`, a wider document is cut, and `onEvent` is called. With `'fit'`, the document is made as small as it has to
   * be, down to a tenth. Gotenberg does not measure documents, and takes `'actual'` only.
   * @default 'actual'
   */
  scale: optional(oneOf('actual', 'fit'), 'actual'),
  /** How long the conversion may take, without the wait for its turn; with Gotenberg, each step of a try.
   * @default the `timeout` of the converter
   */
  timeout: optional(wait(1)),
  /** Aborts the conversion, also while it waits for its turn. */
  signal: optional(abortSignal),
};

/** Options of one document. */
export interface ConvertOptions extends Given<typeof DOCUMENT> {}

/** The options of one document, checked and complete; lengths in inches. */
export interface DocumentSettings extends Pick<
  Values<typeof DOCUMENT>,
  'footer' | 'header' | 'scale' | 'signal' | 'timeout'
> {
  readonly paper: Paper;
  readonly margin: Readonly<Record<keyof Margins, number>>;
  /** The sides whose margin was given; the document may decide the margins of the others. */
  readonly givenMargins: readonly (keyof Margins)[];
}

/** Checks the options of one document. @throws ConfigError with the option and the remedy */
export function readDocumentSettings(options: ConvertOptions): DocumentSettings {
  const { format, landscape, margin, ...settings } = readOptions(DOCUMENT, options, 'convert()');
  const { width, height } = format;
  const { top, right = MARGIN, bottom, left = MARGIN } = margin;
  const { footer, header } = settings;
  return {
    ...settings,
    // Ledger is horizontal anyway.
    paper: landscape && width < height ? { width: height, height: width } : format,
    margin: {
      top: top ?? (header === undefined ? MARGIN : MARGIN_WITH_TEXT),
      right,
      bottom: bottom ?? (footer === undefined ? MARGIN : MARGIN_WITH_TEXT),
      left,
    },
    givenMargins: SIDES.filter((side) => margin[side] !== undefined),
  };
}

const SIDES = ['top', 'right', 'bottom', 'left'] as const;
