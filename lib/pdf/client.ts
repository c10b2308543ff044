import type { Duration } from '../contracts/duration.ts';
import { unusable } from './attempt.ts';
import type { Answer } from './attempt.ts';
import { collect, limited } from './body.ts';
import { PdfError } from './error.ts';
import { takeImage, takeImageStream } from './image.ts';
import type { PdfImage, PdfImageStream } from './image.ts';
import type { PdfInput } from './input.ts';
import type { PdfCallOptions, PdfClientOptions, PdfRenderOptions } from './options.ts';
import { openPayload } from './payload.ts';
import { perform } from './perform.ts';
import type { Take } from './perform.ts';
import { checkRetries, checkTimeout, readSettings, settingsOfCall } from './settings.ts';
import type { Settings } from './settings.ts';
import type { PdfDocument } from './tree.ts';

/**
 * A client of the PDF service, which takes PDFs apart and turns their pages into pictures.
 *
 *     const pdf = new PdfClient({ baseUrl: 'https://pdf.example', apiKey: process.env.PDF_API_KEY });
 *     const words = pdfText(await pdf.extract('report.pdf'));
 *
 * A call that fails rejects with a {@link PdfError}; with the reason of the signal that ended it; with what a hook has
 * thrown; or with a `ConfigError`, for an option of the call that cannot be used.
 */
export class PdfClient {
  #settings: Settings;

  /** @throws ConfigError for an option that cannot be used */
  constructor(options: PdfClientOptions = {}) {
    this.#settings = readSettings(options);
  }

  /** Whether the service's address was given, by the option `baseUrl` or by `PDF_BASE_URL`. */
  get configured(): boolean {
    return this.#settings.configured;
  }

  /** Where requests go, without a slash at the end. */
  get baseUrl(): string {
    return this.#settings.baseUrl;
  }

  /** In seconds where these are whole, else in milliseconds such as `'500 ms'`: see {@link PdfClientOptions.timeout}. */
  get timeout(): Duration {
    const { timeout } = this.#settings;
    return timeout % 1000 === 0 ? timeout / 1000 : `${timeout} ms`;
  }

  /**
   * Sets it for calls to come; those that are under way keep theirs.
   * @throws ConfigError when it is no duration, 0, or more than an hour
   */
  set timeout(timeout: Duration) {
    this.#settings = { ...this.#settings, timeout: checkTimeout(timeout) };
  }

  /** See {@link PdfClientOptions.retries}. */
  get retries(): number {
    return this.#settings.retries;
  }

  /**
   * Sets it for calls to come; those that are under way keep theirs.
   * @throws ConfigError when it is no whole number from 0 to 100
   */
  set retries(retries: number) {
    this.#settings = { ...this.#settings, retries: checkRetries(retries) };
  }

  /** Takes a PDF apart. Resolves to the tree of its headings, paragraphs, tables and pictures. */
  async extract(input: PdfInput, options: PdfCallOptions = {}): Promise<PdfDocument> {
    return this.#call('/extract', input, options, { take: takeDocument });
  }

  /** Turns one page of a PDF into a picture. */
  async render(input: PdfInput, options: PdfRenderOptions = {}): Promise<PdfImage> {
    const path = `/render${renderQuery(options)}`;
    return this.#call(path, input, options, { take: takeImage(options.format) });
  }

  /**
   * Turns one page of a PDF into a picture and hands it on while it arrives.
   *
   * Tries again only until the service begins to answer. A picture that arrives incomplete ends the stream with a
   * {@link PdfError}. So does a reader that takes nothing for as long as `timeout` says.
   */
  async renderStream(input: PdfInput, options: PdfRenderOptions = {}): Promise<PdfImageStream> {
    const path = `/render${renderQuery(options)}`;
    return this.#call(path, input, options, { take: takeImageStream(options.format), streamed: true });
  }

  async #call<T>(
    path: string,
    input: PdfInput,
    options: PdfCallOptions,
    { take, streamed = false }: { take: Take<T>; streamed?: boolean },
  ): Promise<T> {
    const { signal, onUploadProgress, onDownloadProgress } = options;
    const settings = settingsOfCall(this.#settings, options);
    signal?.throwIfAborted();
    const payload = await openPayload(input, settings);
    try {
      const url = new URL(settings.baseUrl + path);
      const call = { settings, url, payload, streamed, signal, onUploadProgress, onDownloadProgress };
      return await perform(call, take);
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
async function takeDocument(answer: Answer): Promise<PdfDocument> {
  const body = await collect(limited(answer));
  if (body.byteLength === 0) throw unusable(answer, 'is empty');
  const value = parse(body);
  if (value === undefined) throw unusable(answer, 'is not JSON', body);
  if (!isTree(value)) throw unusable(answer, 'is JSON, but not the tree of a PDF', body);
  return value;
}

function parse(body: Uint8Array): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body)) as unknown;
  } catch {
    return undefined;
  }
}

/** No more is asked of it: which fields a node has depends on the PDF (spec section 2.7). */
function isTree(value: unknown): value is PdfDocument {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return !('kids' in value) || Array.isArray(value.kids);
}
