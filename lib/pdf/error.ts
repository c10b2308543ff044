import { GatehouseError } from '../errors.ts';
import type { GatehouseErrorCode } from '../errors.ts';

/** The answer of the PDF service, as far as it was read. The API key is blanked out wherever the answer contains it. */
export interface PdfAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 16 KiB of the body, as text. */
  readonly body: string;
}

/** The codes of a {@link PdfError}, which documents their meanings. */
export type PdfErrorCode = Extract<GatehouseErrorCode, `ERR_PDF_${string}`>;

/**
 * A call of the PDF client failed, as `code` says:
 *
 * - `ERR_PDF_INPUT`: the input cannot be sent - no PDF, an empty one, a URL that is not https, a wrong parameter
 * - `ERR_PDF_UNREADABLE`: the file or stream could not be read to its end, or changed while it was sent
 * - `ERR_PDF_HTTP`: the service answered with a status of 300 or more; see `answer`
 * - `ERR_PDF_CONNECTION`: there was no answer - refused, unknown host, cut; `cause.code` is Node's code
 * - `ERR_PDF_TIMEOUT`: the service was too slow
 * - `ERR_PDF_RESPONSE`: the answer is not of the requested kind - no JSON, no image, an incomplete or too large one
 *
 * `status` is, as in every error of this package, the status for a response of the server that uses the client; the status of
 * the PDF service is `answer.status`.
 */
export class PdfError extends GatehouseError {
  /** The kind of the failure; stable. */
  declare readonly code: PdfErrorCode;
  /** The number of requests that were begun. */
  attempts: number = 0;
  /** The answer of the service, with `ERR_PDF_HTTP` and `ERR_PDF_RESPONSE`. */
  readonly answer: PdfAnswer | undefined;

  constructor(code: PdfErrorCode, message: string, options: ErrorOptions & { answer?: PdfAnswer } = {}) {
    const { answer, ...rest } = options;
    super(code, message, rest);
    this.answer = answer;
  }
}
