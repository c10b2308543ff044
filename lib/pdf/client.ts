import { toSeconds } from '../contracts/duration.ts';
import type { Duration } from '../contracts/duration.ts';
import { readOptions } from '../options/declare.ts';
import type { Values } from '../options/declare.ts';
import { responseError } from './attempt.ts';
import type { ServiceResponse } from './attempt.ts';
import { limitedBody } from './body.ts';
import { PdfError } from './error.ts';
import { imageReader, imageStreamReader } from './image.ts';
import type { PdfImage, PdfImageStream } from './image.ts';
import type { PdfInput } from './input.ts';
import { CALL, CLIENT, readSettings, RENDER } from './options.ts';
import type { PdfCallOptions, PdfClientOptions, PdfRenderOptions, PdfSettings } from './options.ts';
import { openPayload } from './payload.ts';
import { perform } from './perform.ts';
import type { AnswerReader } from './perform.ts';
import type { PdfDocument } from './tree.ts';

/**
 * A client of the PDF service, which extracts the content of PDFs and renders their pages as images.
 *
 *     const pdf = new PdfClient({ baseUrl: 'https://pdf.example', apiKey: process.env.PDF_API_KEY });
 *     const words = pdfText(await pdf.extract('report.pdf'));
 *
 * A call that fails rejects with a {@link PdfError}; with the reason of the signal that aborted it; with an error that a hook
 * has thrown; or with a `ConfigError`, for an invalid option of the call.
 */
export class PdfClient {
  #settings: PdfSettings;

  /** @throws ConfigError for an invalid option */
  constructor(options: PdfClientOptions = {}) {
    this.#settings = readSettings(options);
  }

  /** Whether the service's address was given, by the option `baseUrl` or by `PDF_BASE_URL`. */
  get configured(): boolean {
    return this.#settings.configured;
  }

  /** The address of the PDF service, without a slash at the end. */
  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** The timeout: in seconds if it is a whole number of seconds, else a text such as `'500 ms'`. See the option `timeout`. */
  get timeout(): number | `${number} ms` {
    const { timeout } = this.#settings;
    return timeout % 1000 === 0 ? toSeconds(timeout) : `${timeout} ms`;
  }

  /**
   * Sets the timeout of later calls; running calls are not changed.
   * @throws ConfigError when it is no duration, 0, or more than an hour
   */
  set timeout(timeout: Duration) {
    this.#settings = { ...this.#settings, timeout: CLIENT.timeout.check('timeout', timeout) };
  }

  /** See the option `retries`. */
  get retries(): number {
    return this.#settings.retries;
  }

  /**
   * Sets the number of retries of later calls; running calls are not changed.
   * @throws ConfigError when it is no whole number from 0 to 100
   */
  set retries(retries: number) {
    this.#settings = { ...this.#settings, retries: CLIENT.retries.check('retries', retries) };
  }

  /** Extracts the content of a PDF. Resolves to the tree of its headings, paragraphs, tables and images. */
  async extract(input: PdfInput, options: PdfCallOptions = {}): Promise<PdfDocument> {
    return this.#call('/extract', input, readOptions(CALL, options), { read: readDocument });
  }

  /** Renders one page of a PDF as an image. */
  async render(input: PdfInput, options: PdfRenderOptions = {}): Promise<PdfImage> {
    const image = readOptions(RENDER, options);
    return this.#call(`/render${renderQuery(image)}`, input, image, { read: imageReader(image.format) });
  }

  /**
   * Renders one page of a PDF as an image, as a stream.
   *
   * Failed tries are repeated only until the service begins to answer. The stream ends with a {@link PdfError} when the image
   * is incomplete, or when the stream is not read for as long as `timeout`.
   */
  async renderStream(input: PdfInput, options: PdfRenderOptions = {}): Promise<PdfImageStream> {
    const image = readOptions(RENDER, options);
    const read = imageStreamReader(image.format);
    return this.#call(`/render${renderQuery(image)}`, input, image, { read, streamed: true });
  }

  async #call<T>(
    path: string,
    input: PdfInput,
    { signal, onUploadProgress, onDownloadProgress, ...own }: Values<typeof CALL>,
    { read, streamed = false }: { read: AnswerReader<T>; streamed?: boolean },
  ): Promise<T> {
    const { headers, maxResponseBytes, retries, timeout } = this.#settings;
    const settings = {
      ...this.#settings,
      timeout: own.timeout ?? timeout,
      retries: own.retries ?? retries,
      maxResponseBytes: own.maxResponseBytes ?? maxResponseBytes,
      headers: { ...headers, ...own.headers },
    };
    signal?.throwIfAborted();
    const payload = await openPayload(input, settings);
    try {
      const url = new URL(settings.baseUrl + path);
      const call = { settings, url, payload, streamed, signal, onUploadProgress, onDownloadProgress };
      return await perform(call, read);
    } finally {
      await payload.close();
    }
  }
}

/** The query of a render request, with the parameters that were given (spec section 4.7). */
function renderQuery({ page, format, quality, width }: PdfRenderOptions): string {
  const query = new URLSearchParams();
  if (format !== undefined && format !== 'png' && format !== 'jpg') {
    throw new PdfError('ERR_PDF_INPUT', "The format of an image must be 'png' or 'jpg'.");
  }
  for (const [name, value] of Object.entries({ page, quality, width })) {
    if (value === undefined) continue;
    if (!Number.isSafeInteger(value) || value < 1) {
      throw new PdfError('ERR_PDF_INPUT', `The ${name} of an image must be a whole number of at least 1.`);
    }
    query.set(name, String(value));
  }
  if (format !== undefined) query.set('format', format);
  return query.size === 0 ? '' : `?${query.toString()}`;
}

/** Reads the tree of a PDF. */
async function readDocument(answer: ServiceResponse): Promise<PdfDocument> {
  const body = Buffer.concat(await Array.fromAsync(limitedBody(answer)));
  if (body.byteLength === 0) throw responseError(answer, 'is empty');
  const value = parse(body);
  if (value === undefined) throw responseError(answer, 'is not JSON', body);
  if (!isTree(value)) throw responseError(answer, 'is JSON, but not the tree of a PDF', body);
  return value;
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    return undefined;
  }
}

/** Checks only that it is a tree, because the fields of a node depend on the PDF (spec section 2.7). */
function isTree(value: unknown): value is PdfDocument {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !('kids' in value) || Array.isArray(value.kids);
}
