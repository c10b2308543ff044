import { GatehouseError } from '../errors.ts';
import type { GatehouseErrorCode } from '../errors.ts';

/** What the PDF service answered, as far as it was read. The API key is blanked out wherever the service repeats it. */
export interface PdfAnswer {
  /** The HTTP status. */
  readonly status: number;
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 16 KiB of the body, as text. */
  readonly body: string;
}

/** The codes of a {@link PdfError}, where what each stands for is told. */
export type PdfErrorCode = Extract<GatehouseErrorCode, `ERR_PDF_${string}`>;

/** The HTTP status that fits when the error reaches the caller of a server that uses the client. */
const STATUS: Readonly<Record<PdfErrorCode, number>> = {
  ERR_PDF_INPUT: 400,
  ERR_PDF_UNREADABLE: 500,
  ERR_PDF_HTTP: 502,
  ERR_PDF_CONNECTION: 502,
  ERR_PDF_TIMEOUT: 504,
  ERR_PDF_RESPONSE: 502,
};

/**
 * A call of the PDF client failed.
 *
 * `code` says how:
 *
 * - `ERR_PDF_INPUT`: what was passed cannot be sent - no PDF, an empty one, a URL that is not https, a wrong parameter
 * - `ERR_PDF_UNREADABLE`: the file or stream could not be read to its end, or changed meanwhile
 * - `ERR_PDF_HTTP`: the service answered with a status of 300 or more; see `answer`
 * - `ERR_PDF_CONNECTION`: there was no answer - refused, unknown host, cut; `cause.code` is Node's code
 * - `ERR_PDF_TIMEOUT`: the service was too slow
 * - `ERR_PDF_RESPONSE`: the answer is not what was asked for - no JSON, no image, an incomplete or too large one
 *
 * `status` is, as in every error of this package, what a server that uses the client may answer its own caller with;
 * the PDF service's status is `answer.status`.
 */
export class PdfError extends GatehouseError {
  /** How the call failed; stable. */
  declare readonly code: PdfErrorCode;
  /** How many requests were begun; 0 when none was. */
  attempts: number = 0;
  /** With `ERR_PDF_HTTP` and `ERR_PDF_RESPONSE`. */
  readonly answer: PdfAnswer | undefined;

  constructor(code: PdfErrorCode, message: string, options: ErrorOptions & { answer?: PdfAnswer } = {}) {
    const { answer, ...rest } = options;
    super(code, message, { ...rest, status: STATUS[code] });
    this.answer = answer;
  }
}
