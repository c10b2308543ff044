import type { ConvertOptions } from './options.ts';

/** Converts HTML to PDF: `createHtmlToPdf()` with a browser of this machine, `gotenbergHtmlToPdf()` with a service. */
export interface HtmlToPdf extends AsyncDisposable {
  /**
   * Converts a document.
   *
   * @throws HtmlToPdfError when the conversion fails, with Gotenberg also PdfError; ConfigError for an invalid option; the reason of
   * `signal` when it aborts
   */
  convert(html: string, options?: ConvertOptions): Promise<Uint8Array>;
  /** Converts a document, and returns the PDF in pieces, so that a large PDF is not kept in memory as a whole. */
  stream(html: string, options?: ConvertOptions): AsyncIterable<Uint8Array>;
  /** Waits for running conversions and ends the browser. Waiting and later calls fail with `ERR_HTML_TO_PDF_CLOSED`. */
  close(): Promise<void>;
}

/**
 * A converter.
 *
 * @param print - returns the pieces of a PDF. With `whole`, no piece is used before the last one has arrived, so that the conversion can
 * be tried again until then
 */
export function htmlToPdf(
  print: (html: string, options: ConvertOptions, whole: boolean) => AsyncIterable<Uint8Array>,
  close: () => Promise<void>,
): HtmlToPdf {
  return {
    convert: async (html, options = {}) => Buffer.concat(await Array.fromAsync(print(html, options, true))),
    stream: (html, options = {}) => print(html, options, false),
    close,
    [Symbol.asyncDispose]: close,
  };
}
