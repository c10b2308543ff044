import { setTimeout as delay } from 'node:timers/promises';

import { secondsSince } from '../contracts/clock.ts';
import { toSeconds } from '../contracts/duration.ts';
import type { Milliseconds } from '../contracts/duration.ts';
import { beginStackAt, GatehouseError } from '../errors.ts';
import { Browsers } from './browser.ts';
import type { OpenDocument } from './browser.ts';
import { htmlToPdf } from './contract.ts';
import type { HtmlToPdf } from './contract.ts';
import { checkHtml, crashError, firstLine, HtmlToPdfError } from './error.ts';
import type { CutWidth, DocumentSource, EmptyPage } from './load.ts';
import { readConverterSettings, readDocumentSettings } from './options.ts';
import type { ConvertOptions, DocumentSettings, HtmlToPdfOptions } from './options.ts';
import { printDocument } from './print.ts';
import { ConversionQueue } from './queue.ts';

/**
 * Creates a converter of HTML to PDF with a browser of this machine. The browser starts with the first document and is replaced
 * when it ends or has converted `recycleAfter` documents. Documents may come from strangers: they run no JavaScript and reach
 * neither the network, nor files, nor another document.
 *
 * @throws ConfigError for an invalid option, and when there is no Chromium
 *
 * @example
 * import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';
 * await using pdf = createHtmlToPdf();
 * const bytes = await pdf.convert('<h1>Enrolment</h1>', { format: 'letter' });
 */
export function createHtmlToPdf(options: HtmlToPdfOptions = {}): HtmlToPdf {
  const settings = readConverterSettings(options);
  const { onEvent } = settings;
  const queue = new ConversionQueue(settings.concurrency, settings.maxQueue);
  const browsers = new Browsers(settings);

  function onMissing(files: readonly string[]): void {
    onEvent({ type: 'missing', files });
    if (settings.onMissing === 'error') throw missingError(files);
  }

  const onCut = (width: CutWidth): void => onEvent({ type: 'cut', ...width });

  async function* print(html: string, given: ConvertOptions): AsyncGenerator<Uint8Array> {
    const document = readDocumentSettings(given);
    checkHtml(html, settings.maxHtmlBytes);
    const calledAt = performance.now();
    const leave = await queue.enter(document.signal);
    const startedAt = performance.now();
    onEvent({ type: 'started', waited: toSeconds(startedAt - calledAt), waiting: queue.waiting });
    let bytes = 0;
    // Until the conversion ends in another way, this counts as left by the caller.
    let failure: string | undefined = 'aborted';
    try {
      for await (const piece of convertInTurn(html, document, leave)) {
        bytes += piece.byteLength;
        yield piece;
      }
      failure = undefined;
    } catch (error) {
      if (error instanceof GatehouseError) failure = error.code;
      throw error;
    } finally {
      if (failure === undefined) onEvent({ type: 'finished', seconds: secondsSince(startedAt), bytes });
      else onEvent({ type: 'failed', seconds: secondsSince(startedAt), code: failure });
    }
  }

  async function* convertInTurn(
    html: string,
    document: DocumentSettings,
    leave: () => void,
  ): AsyncGenerator<Uint8Array> {
    const { signal } = document;
    const limit = document.timeout ?? settings.timeout;
    const timeout = AbortSignal.timeout(limit);
    const abort = AbortSignal.any(signal ? [timeout, signal] : [timeout]);
    const conversion = new Conversion(browsers);
    let isClosed = false;
    // The caller does not wait until the document is closed, but its turn lasts until then.
    const close = (): void => {
      if (!isClosed) void conversion.close().finally(leave);
      isClosed = true;
    };
    // Closes the document also when the caller stops reading the stream.
    abort.addEventListener('abort', close, { once: true });
    try {
      yield* conversion.print({ html, onCut, onMissing }, document, abort);
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      if (timeout.aborted) throw timeoutError(limit);
      throw error;
    } finally {
      abort.removeEventListener('abort', close);
      close();
    }
  }

  return htmlToPdf(print, async () => {
    await queue.close();
    await browsers.close();
  });
}
beginStackAt(createHtmlToPdf);

function missingError(files: readonly string[]): HtmlToPdfError {
  return new HtmlToPdfError(
    'ERR_HTML_TO_PDF_MISSING',
    `The document names files that it did not get: ${files.join(', ')}. Return them from assets, or put them into data: URLs.`,
  );
}

function timeoutError(limit: Milliseconds): HtmlToPdfError {
  return new HtmlToPdfError(
    'ERR_HTML_TO_PDF_TIMEOUT',
    `The conversion took longer than ${limit} ms. Raise timeout, or make the document smaller.`,
  );
}

/** How long a browser may take to close a document before it is ended. */
const CLOSING_TIME: Milliseconds = 5000;

/** One conversion: a document in a browser, until it is closed. */
class Conversion {
  readonly #browsers: Browsers;
  #document: Promise<OpenDocument> | undefined;
  #page: Promise<EmptyPage> | undefined;

  constructor(browsers: Browsers) {
    this.#browsers = browsers;
  }

  /** Prints the document, piece by piece, until `abort`. */
  async *print(
    source: DocumentSource,
    settings: DocumentSettings,
    abort: AbortSignal,
  ): AsyncGenerator<Uint8Array> {
    this.#document = this.#browsers.begin();
    const { browser, lost, openPage } = await orAbort(this.#document, abort);
    // The process of a page can end while the browser goes on. No pending call notices that.
    const crash = new AbortController();
    const ended = AbortSignal.any([abort, lost, crash.signal]);
    try {
      this.#page = openPage();
      const empty = await orAbort(this.#page, ended);
      empty.page.on('crash', () => crash.abort(crashError()));
      const pieces = printDocument(empty, source, settings);
      for (;;) {
        const { done, value } = await orAbort(pieces.next(), ended);
        if (done) return;
        yield value;
      }
    } catch (error) {
      if (error instanceof GatehouseError || abort.aborted) throw error;
      // A call may fail before the browser is known to have ended.
      if (!browser.isConnected()) throw lost.aborted ? lost.reason : crashError();
      throw new HtmlToPdfError(
        'ERR_HTML_TO_PDF_BROWSER',
        `Chromium did not print the document: ${firstLine(error)}.`,
        { cause: error },
      );
    }
  }

  /** Ends the document, and also the browser if it does not respond. */
  async close(): Promise<void> {
    // A conversion that did not begin has nothing to close.
    const document = await this.#document?.catch(() => undefined);
    if (document === undefined) return;
    const timer = new AbortController();
    const closed = closePage(this.#page);
    const isLate = await Promise.race([closed, delay(CLOSING_TIME, true, timer).catch(() => false)]);
    timer.abort();
    if (isLate) await document.end('unresponsive');
    document[Symbol.dispose]();
  }
}

async function closePage(page: Promise<EmptyPage> | undefined): Promise<false> {
  try {
    await (await page)?.context.close();
  } catch {
    // The browser has ended, and the page with it.
  }
  return false;
}

/** Waits for a promise, or rejects with the reason of the signal. The promise is no longer waited for then. */
async function orAbort<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const abort = (): void => reject(signal.reason);
  signal.addEventListener('abort', abort, { once: true });
  if (signal.aborted) abort();
  // The promise that is too late may reject as well.
  promise.catch(() => {});
  aborted.catch(() => {});
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
