import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';

import type { Duration } from '../contracts/duration.ts';
import type { PdfError } from './error.ts';

/** Options of `new PdfClient()`. */
export interface PdfClientOptions {
  /**
   * Where the PDF service is, http or https; a path in it is kept.
   * @default the environment variable `PDF_BASE_URL`, else `http://127.0.0.1:7330`, where `npm run pdf-service` listens
   */
  readonly baseUrl?: string | URL | undefined;
  /** Sent with every request as `Authorization: Bearer`, unless empty. Appears in no error and no log. */
  readonly apiKey?: string | undefined;
  /**
   * How long the service may keep one try waiting, such as `'30 seconds'` or `'500 ms'`: for the connection, for taking the next bytes of the
   * upload, for the beginning of the answer, and for the rest of it. An upload may take longer as long as it moves. To
   * limit a call as a whole, pass `signal: AbortSignal.timeout()`.
   * @default '60 seconds'
   */
  readonly timeout?: Duration | undefined;
  /**
   * How many more tries may follow the first one when it fails, 0 to 100: 2 makes three requests at most. Tried again are
   * lost and refused connections, timeouts, and the statuses 408, 425, 429 and 500 and above, except 501.
   * @default 2
   */
  readonly retries?: number | undefined;
  /**
   * The wait before the second try; it doubles with every further one. Each wait is shortened at random,
   * by half at most, so that many clients do not come back at once.
   * @default '1 second'
   */
  readonly retryDelay?: Duration | undefined;
  /**
   * The longest wait between tries. When the service asks for a longer one (`Retry-After`), the call
   * fails at once.
   * @default '30 seconds'
   */
  readonly maxRetryDelay?: Duration | undefined;
  /**
   * How large an answer may be, in bytes, uncompressed.
   * @default 134_217_728
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Whether files of this machine are sent that are named by their path: a string that is no URL, `{ path }`, `{ filepath }`
   * as koa-body and formidable leave it, or what multer has put on the disk. With `false` all of these are refused, for code
   * where they come from a stranger, who could name any file; pass the bytes, a `Blob` (`fs.openAsBlob`) or a stream.
   * @default true
   */
  readonly localFiles?: boolean | undefined;
  /** Further header fields of every request; `Authorization` and those about the body are the client's own. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For a proxy, a certificate authority of your own, or a limit on connections. */
  readonly agent?: { readonly http?: HttpAgent; readonly https?: HttpsAgent } | undefined;
  /** Called on the way. What a hook throws ends the call. */
  readonly hooks?: PdfHooks | undefined;
}

/** Options of one call. What is left out is as the client has it. */
export interface PdfCallOptions {
  /** See {@link PdfClientOptions.timeout}. */
  readonly timeout?: Duration | undefined;
  /** See {@link PdfClientOptions.retries}. */
  readonly retries?: number | undefined;
  /** See {@link PdfClientOptions.maxResponseBytes}. */
  readonly maxResponseBytes?: number | undefined;
  /** Added to the client's, or in place of those of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Ends the call at any time: it then rejects with the signal's reason, as `fetch` does. */
  readonly signal?: AbortSignal | undefined;
  /** Told how much of the PDF has been sent. */
  readonly onUploadProgress?: ((progress: PdfProgress) => void) | undefined;
  /** Told how much of the answer has arrived. */
  readonly onDownloadProgress?: ((progress: PdfProgress) => void) | undefined;
}

/** Options of `render()` and `renderStream()`. Only those that are given are sent; the service knows the defaults. */
export interface PdfRenderOptions extends PdfCallOptions {
  /** Which page; the first one is 1. */
  readonly page?: number | undefined;
  /** Of the picture; anything else that the service sends is an error. */
  readonly format?: 'png' | 'jpg' | undefined;
  /** Of a JPEG. Which numbers it takes is up to the service. */
  readonly quality?: number | undefined;
  /** Of the picture; the example service counts in pixels. */
  readonly width?: number | undefined;
}

/** How much of a PDF has been sent, or of an answer has arrived. */
export interface PdfProgress {
  /** Bytes of this try. */
  readonly transferred: number;
  /** `undefined` when it is not known in advance. */
  readonly total: number | undefined;
  /** The first try is 1; a further one begins at 0 bytes again. */
  readonly attempt: number;
}

/** What happens on the way, for logs and metrics. Header fields are not passed on: they hold the API key. */
export interface PdfHooks {
  /** A try begins. */
  onRequest?(event: { readonly method: 'POST'; readonly url: string; readonly attempt: number }): void;
  /** The service begins to answer, `ms` milliseconds after the request was begun. */
  onResponse?(event: { readonly status: number; readonly ms: number; readonly attempt: number }): void;
  /** The try failed, and the next one begins in `delay` milliseconds. */
  onRetry?(event: { readonly error: PdfError; readonly delay: number; readonly attempt: number }): void;
}
