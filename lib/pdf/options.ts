import type { Agent as HttpAgent } from 'node:http';
import type { Agent as HttpsAgent } from 'node:https';

import type { Duration } from '../contracts/duration.ts';
import type { PdfError } from './error.ts';

/** Options of `new PdfClient()`. */
export interface PdfClientOptions {
  /**
   * The address of the PDF service, http or https; it may contain a path.
   * @default the environment variable `PDF_BASE_URL`, else `http://127.0.0.1:7330`, where `npm run pdf-service` listens
   */
  readonly baseUrl?: string | URL | undefined;
  /** Sent with every request as `Authorization: Bearer`, unless empty. No error and no log contains it. */
  readonly apiKey?: string | undefined;
  /**
   * The time limit of each step of a try, such as `'30 seconds'` or `'500 ms'`: the connection, the next bytes of the upload,
   * the beginning of the answer, and the rest of it. An upload may take longer as a whole, as long as it progresses. To limit
   * the whole call, pass `signal: AbortSignal.timeout()`.
   * @default '60 seconds'
   */
  readonly timeout?: Duration | undefined;
  /**
   * The number of tries after a failed first one, 0 to 100: with 2, there are three requests at most. Lost and refused
   * connections, timeouts, and the statuses 408, 425, 429 and 500 and above, except 501, are tried again.
   * @default 2
   */
  readonly retries?: number | undefined;
  /**
   * The wait before the second try; it doubles with every further one. Each wait is shortened at random, by half at most, so
   * that many clients do not try again at the same moment.
   * @default '1 second'
   */
  readonly retryDelay?: Duration | undefined;
  /**
   * The longest wait between tries. When the service asks for a longer one (`Retry-After`), the call fails at once.
   * @default '30 seconds'
   */
  readonly maxRetryDelay?: Duration | undefined;
  /**
   * The largest size of an uncompressed answer, in bytes.
   * @default 134_217_728
   */
  readonly maxResponseBytes?: number | undefined;
  /**
   * Whether an input may name a file of this machine by its path: a string that is no URL, `{ path }`, `{ filepath }` of
   * koa-body and formidable, or a file that multer has stored on the disk. With `false` all of these are refused. Set it where
   * the input may come from a request, which could name any file; then pass the bytes, a `Blob` (`fs.openAsBlob`) or a stream.
   * @default true
   */
  readonly localFiles?: boolean | undefined;
  /** Further header fields of every request. `Authorization` and those about the body cannot be set here. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** For a proxy, your own certificate authority, or a limit on connections. */
  readonly agent?: { readonly http?: HttpAgent; readonly https?: HttpsAgent } | undefined;
  /** Called at each step of a call. An error that a hook throws ends the call. */
  readonly hooks?: PdfHooks | undefined;
}

/** Options of one call. The default of each is the option of the client. */
export interface PdfCallOptions {
  /** See {@link PdfClientOptions.timeout}. */
  readonly timeout?: Duration | undefined;
  /** See {@link PdfClientOptions.retries}. */
  readonly retries?: number | undefined;
  /** See {@link PdfClientOptions.maxResponseBytes}. */
  readonly maxResponseBytes?: number | undefined;
  /** Added to the client's header fields; replaces those of the same name. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Aborts the call: it then rejects with the signal's reason, as `fetch` does. */
  readonly signal?: AbortSignal | undefined;
  /** Called while the PDF is sent. */
  readonly onUploadProgress?: ((progress: PdfProgress) => void) | undefined;
  /** Called while the answer arrives. */
  readonly onDownloadProgress?: ((progress: PdfProgress) => void) | undefined;
}

/** Options of `render()` and `renderStream()`. Only the given ones are sent; the service has the defaults. */
export interface PdfRenderOptions extends PdfCallOptions {
  /** The number of the page; the first one is 1. */
  readonly page?: number | undefined;
  /** The format of the image; an answer in another format is an error. */
  readonly format?: 'png' | 'jpg' | undefined;
  /** The quality of a JPEG. The service decides which numbers it accepts. */
  readonly quality?: number | undefined;
  /** The width of the image; in pixels at the example service. */
  readonly width?: number | undefined;
}

/** The progress of an upload or a download. */
export interface PdfProgress {
  /** Bytes of this try. */
  readonly transferred: number;
  /** `undefined` when it is not known in advance. */
  readonly total: number | undefined;
  /** The first try is 1; a further one begins at 0 bytes again. */
  readonly attempt: number;
}

/** Callbacks for logs and metrics. They get no header fields, because these contain the API key. */
export interface PdfHooks {
  /** A try begins. */
  onRequest?(event: { readonly method: 'POST'; readonly url: string; readonly attempt: number }): void;
  /** The service begins to answer, `ms` milliseconds after the request was begun. */
  onResponse?(event: { readonly status: number; readonly ms: number; readonly attempt: number }): void;
  /** The try failed, and the next one begins in `delay` milliseconds. */
  onRetry?(event: { readonly error: PdfError; readonly delay: number; readonly attempt: number }): void;
}
