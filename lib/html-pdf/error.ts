import { GatehouseError } from '../errors.ts';

/**
 * A conversion of HTML to PDF failed, as `code` says:
 *
 * - `ERR_HTML_TO_PDF_INPUT`: the HTML is no string, or larger than `maxHtmlBytes`
 * - `ERR_HTML_TO_PDF_MISSING`: with `onMissing: 'error'`, the document names a file that it did not get
 * - `ERR_HTML_TO_PDF_FULL`: `maxQueue` conversions wait already; try again later
 * - `ERR_HTML_TO_PDF_CLOSED`: `close()` was called
 * - `ERR_HTML_TO_PDF_TIMEOUT`: the conversion took longer than `timeout`
 * - `ERR_HTML_TO_PDF_MEMORY`: the browser used more than `maxMemory`; one of the documents that it converted is too large
 * - `ERR_HTML_TO_PDF_CRASHED`: the browser ended during the conversion; the next conversion starts another one
 * - `ERR_HTML_TO_PDF_BROWSER`: the browser did not start, or it failed to print; see `cause`
 */
export class HtmlToPdfError extends GatehouseError {
  /** The kind of the failure; stable. */
  declare readonly code:
    | 'ERR_HTML_TO_PDF_INPUT'
    | 'ERR_HTML_TO_PDF_MISSING'
    | 'ERR_HTML_TO_PDF_FULL'
    | 'ERR_HTML_TO_PDF_CLOSED'
    | 'ERR_HTML_TO_PDF_TIMEOUT'
    | 'ERR_HTML_TO_PDF_MEMORY'
    | 'ERR_HTML_TO_PDF_CRASHED'
    | 'ERR_HTML_TO_PDF_BROWSER';

  // oxlint-disable-next-line no-useless-constructor -- it takes the codes of this error only
  constructor(code: HtmlToPdfError['code'], message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}

/** Checks the HTML of a document. @throws HtmlToPdfError */
export function checkHtml(html: unknown, maxHtmlBytes: number): void {
  if (typeof html !== 'string') {
    throw new HtmlToPdfError('ERR_HTML_TO_PDF_INPUT', 'The HTML is not a string.');
  }
  if (Buffer.byteLength(html) > maxHtmlBytes) {
    throw new HtmlToPdfError(
      'ERR_HTML_TO_PDF_INPUT',
      `The HTML is larger than ${maxHtmlBytes} bytes, which maxHtmlBytes allows.`,
    );
  }
}

/** For calls after `close()`. */
export function closedError(): HtmlToPdfError {
  return new HtmlToPdfError('ERR_HTML_TO_PDF_CLOSED', 'The converter was closed. Create another one.');
}

/** For a document whose browser has ended. */
export function crashError(): HtmlToPdfError {
  return new HtmlToPdfError('ERR_HTML_TO_PDF_CRASHED', 'The browser ended during the conversion.');
}

/** The first line of an error's message; playwright-core adds a log to it. */
export function firstLine(error: unknown): string {
  return error instanceof Error ? error.message.split('\n', 1)[0]! : String(error);
}
