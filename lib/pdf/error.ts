import { GatehouseError } from '../errors.ts';

/**
 * A call of the PDF client failed, as `code` says:
 *
 * - `ERR_PDF_INPUT`: the input cannot be sent - no PDF, an empty one, a URL that is not https, a wrong parameter
 * - `ERR_PDF_UNREADABLE`: the file or stream could not be read to its end, or changed while it was sent
 * - `ERR_PDF_HTTP`: the service answered with a status of 300 or more; see `response`
 * - `ERR_PDF_CONNECTION`: there was no response - refused, unknown host, cut; `cause.code` is Node's code
 * - `ERR_PDF_TIMEOUT`: the service was too slow
 * - `ERR_PDF_RESPONSE`: the response is not of the requested kind - no JSON, no image, an incomplete or too large one
 *
 * `status` is, as in every error of this package, the status for a response of the server that uses the client; the status of
 * the PDF service is `response.status`.
 */
export class PdfError extends GatehouseError {
  /** The kind of the failure; stable. */
  declare readonly code:
    | 'ERR_PDF_INPUT'
    | 'ERR_PDF_UNREADABLE'
    | 'ERR_PDF_HTTP'
    | 'ERR_PDF_CONNECTION'
    | 'ERR_PDF_TIMEOUT'
    | 'ERR_PDF_RESPONSE';
  /** The number of requests that were begun. */
  attempts: number = 0;
  /**
   * The response of the service, as far as it was read, with `ERR_PDF_HTTP` and `ERR_PDF_RESPONSE`. The API key is blanked out wherever
   * the response contains it.
   */
  readonly response:
    | {
        /** The HTTP status. */
        readonly status: number;
        /** By lower-case name. */
        readonly headers: Readonly<Record<string, string>>;
        /** The first 16 KiB of the body, as text. */
        readonly body: string;
      }
    | undefined;

  constructor(
    code: PdfError['code'],
    message: string,
    options: ErrorOptions & { response?: PdfError['response'] } = {},
  ) {
    const { response, ...rest } = options;
    super(code, message, rest);
    this.response = response;
  }
}
