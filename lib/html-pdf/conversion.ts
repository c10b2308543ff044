import { setTimeout as delay } from 'node:timers/promises';

import { GatehouseError } from '../errors.ts';
import type { Browsers, OpenDocument } from './browser.ts';
import { crashError, firstLine, HtmlPdfError } from './error.ts';
import type { EmptyPage, Source } from './load.ts';
import { printDocument } from './print.ts';
import type { DocumentSettings } from './options.ts';

/** How long a browser may take to close a document before it is ended, in milliseconds. */
const CLOSING_TIME = 5000;

/** One conversion: a document in a browser, until it is closed. */
export class Conversion {
  readonly #browsers: Browsers;
  #document: Promise<OpenDocument> | undefined;
  #page: Promise<EmptyPage> | undefined;

  constructor(browsers: Browsers) {
    this.#browsers = browsers;
  }

  /** Prints the document, piece by piece, until `abort`. */
  async *print(source: Source, settings: DocumentSettings, abort: AbortSignal): AsyncGenerator<Uint8Array> {
    this.#document = this.#browsers.begin();
    const { browser, lost, openPage } = await orAbort(this.#document, abort);
    // The process of a page can end while the browser goes on, which no pending call notices.
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
      throw new HtmlPdfError(
        'ERR_HTML_PDF_BROWSER',
        `Chromium did not print the document: ${firstLine(error)}.`,
        { cause: error },
      );
    }
  }

  /** Ends the document, and the browser if that does not respond. */
  async close(): Promise<void> {
    // One that did not begin has nothing to close.
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
  // Of the two promises, the one that is too late may reject as well.
  promise.catch(() => {});
  aborted.catch(() => {});
  try {
    return await Promise.race([promise, aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
