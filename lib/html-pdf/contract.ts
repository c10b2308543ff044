import type { HtmlPdfOptions } from './options.ts';

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

/**
 * A converter.
 *
 * @param print - the pieces of a PDF. `whole`: none is used before the last one, so that it can be tried again until then
 */
export function htmlToPdf(
  print: (html: string, options: HtmlPdfOptions, whole: boolean) => AsyncIterable<Uint8Array>,
  close: () => Promise<void>,
): HtmlToPdf {
  return {
    convert: async (html, options = {}) => Buffer.concat(await Array.fromAsync(print(html, options, true))),
    stream: (html, options = {}) => print(html, options, false),
    close,
    [Symbol.asyncDispose]: close,
  };
}
