import type { Duration } from '../contracts/duration.ts';

/** Converts HTML to PDF: `createHtmlToPdf()` with a browser of this machine, `gotenbergHtmlToPdf()` with a service. */
export interface HtmlToPdf extends AsyncDisposable {
  /**
   * Converts a document.
   *
   * @throws HtmlPdfError when it fails, with Gotenberg PdfError as well; ConfigError for an invalid option; the reason of `signal` when it aborts
   */
  convert(html: string, options?: HtmlPdfOptions): Promise<Uint8Array>;
  /** Converts a document, and returns the PDF in pieces, so that a large one is not kept in memory as a whole. */
  stream(html: string, options?: HtmlPdfOptions): AsyncIterable<Uint8Array>;
  /** Waits for running conversions and ends the browser. Waiting and later calls fail with `ERR_HTML_PDF_CLOSED`. */
  close(): Promise<void>;
}

/** Options of one document. */
export interface HtmlPdfOptions {
  /** The paper size, in upper or lower case. It is used instead of the size of the document's own `@page` rule. @default 'a4' */
  readonly format?: PaperFormat | Uppercase<PaperFormat> | undefined;
  /** @default false */
  readonly landscape?: boolean | undefined;
  /**
   * The margins of each page as CSS lengths, such as `'2cm'`: one for all sides, or some of the four. A document's own `@page`
   * margin has precedence over a side that is not given.
   * @default '1cm', and '2cm' at a side with a header or a footer
   */
  readonly margin?: Length | Margins | undefined;
  /**
   * HTML at the top of each page. Elements of the classes `pageNumber`, `totalPages`, `title` and `date` are filled in. It has
   * styles of its own, none of the document's, and loads nothing.
   * @default none
   */
  readonly header?: string | undefined;
  /** The same at the bottom of each page: `Page <span class="pageNumber"></span>`. @default none */
  readonly footer?: string | undefined;
  /** How long the conversion may take, without the wait for its turn; with Gotenberg, each step of a try.
   * @default the `timeout` of the converter
   */
  readonly timeout?: Duration | undefined;
  /** Aborts the conversion, also while it waits for its turn. */
  readonly signal?: AbortSignal | undefined;
}

/** The names of paper sizes (ISO 216, ANSI/ASME Y14.1). */
export type PaperFormat =
  | 'a0'
  | 'a1'
  | 'a2'
  | 'a3'
  | 'a4'
  | 'a5'
  | 'a6'
  | 'letter'
  | 'legal'
  | 'tabloid'
  | 'ledger';

/** A CSS length: a number and `mm`, `cm`, `in`, `pt` or `px`. */
export type Length = `${number}${'mm' | 'cm' | 'in' | 'pt' | 'px'}`;

/** The margins of the four sides. */
export interface Margins {
  readonly top?: Length | undefined;
  readonly right?: Length | undefined;
  readonly bottom?: Length | undefined;
  readonly left?: Length | undefined;
}

/** A file that a document names by a relative URL. */
export interface Asset {
  readonly data: Uint8Array;
  /** Its media type; only images are loaded. */
  readonly type: `image/${string}`;
}
