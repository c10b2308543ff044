import type { Browser } from 'playwright-core';

import { secondsSince } from '../contracts/clock.ts';
import type { Milliseconds } from '../contracts/duration.ts';
import { ConfigError } from '../errors.ts';
import { crashError, firstLine, HtmlToPdfError } from './error.ts';
import { openPage } from './load.ts';
import type { EmptyPage } from './load.ts';
import { openProcesses } from './processes.ts';
import type { Processes } from './processes.ts';
import type { BrowserEnd, ConverterSettings } from './options.ts';

/**
 * These keep a document from reaching the network: nothing listens at the proxy, which is used for loopback addresses too, and no name
 * resolves. Interception alone lets `<link rel="prefetch">` and WebSockets through.
 */
export const NO_NETWORK: readonly string[] = [
  '--proxy-server=http://127.0.0.1:9',
  '--proxy-bypass-list=<-loopback>',
  '--host-resolver-rules=MAP * ~NOTFOUND',
  // Against WebRTC's UDP. The first option is Chromium's; chromium-headless-shell knows only the second.
  '--webrtc-ip-handling-policy=disable_non_proxied_udp',
  '--force-webrtc-ip-handling-policy=disable_non_proxied_udp',
];

/** Without composited layers, and in a low window, a short document takes a tenth less time. Nothing is shown anyway. */
const NO_DISPLAY = ['--blink-settings=acceleratedCompositingEnabled=false', '--window-size=1280,100'];

/** The variables of this process that Chromium needs. The others may contain credentials. */
const ENVIRONMENT = ['HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR', 'TZ', 'XDG_RUNTIME_DIR'];

/** How often the memory is checked while documents are converted. */
const MEMORY_CHECK_INTERVAL: Milliseconds = 250;

/** A document in a browser. Disposing of it marks its end. */
export interface OpenDocument extends Disposable {
  readonly browser: Browser;
  /** Opens the page of the document, in a context of its own. */
  readonly openPage: () => Promise<EmptyPage>;
  /** Ends the browser, with all its documents. */
  end(reason: BrowserEnd): Promise<void>;
  /** Aborts with an HtmlToPdfError when the browser ends before the document. */
  readonly lost: AbortSignal;
}

/** The running browser, and those that replace it. */
export class Browsers {
  readonly #settings: ConverterSettings;
  readonly #open = new Set<RunningBrowser>();
  #current: Promise<RunningBrowser> | undefined;

  constructor(settings: ConverterSettings) {
    this.#settings = settings;
  }

  /**
   * Begins a document in the running browser, or in a new one when that browser has ended, failed to start, or begun enough documents.
   *
   * @throws ConfigError when playwright-core is missing; HtmlToPdfError when the browser does not start
   */
  async begin(): Promise<OpenDocument> {
    for (;;) {
      const starting = (this.#current ??= this.#start());
      try {
        const running = await starting;
        // The document is counted without a wait after the check, so that no other document makes the browser end in between.
        if (running.accepts) return running.begin();
        this.#forget(starting);
      } catch (error) {
        this.#forget(starting);
        throw error;
      }
    }
  }

  /** Ends all browsers, also one that is starting. */
  async close(): Promise<void> {
    await this.#current?.catch(() => {});
    await Promise.all(Array.from(this.#open, async (running) => running.end('closed')));
  }

  async #start(): Promise<RunningBrowser> {
    const startedAt = performance.now();
    const browser = await launch(this.#settings);
    const running = new RunningBrowser(browser, await openProcesses(browser), this.#settings);
    this.#open.add(running);
    browser.once('disconnected', () => this.#open.delete(running));
    this.#settings.onEvent({ type: 'browser_started', seconds: secondsSince(startedAt) });
    return running;
  }

  #forget(starting: Promise<RunningBrowser>): void {
    // Another conversion may have replaced the browser meanwhile.
    if (this.#current === starting) this.#current = undefined;
  }
}

class RunningBrowser {
  readonly #browser: Browser;
  readonly #processes: Processes;
  readonly #settings: ConverterSettings;
  readonly #lost = new AbortController();
  /** The number of documents that were begun. */
  #documents = 0;
  /** The number of documents that have not ended. */
  #running = 0;
  /** The page of the next document, which is opened while another document is printed. */
  #nextPage: EmptyPage | undefined;
  #isPreparing = false;
  #ended: BrowserEnd | undefined;
  #watch: NodeJS.Timeout | undefined;

  constructor(browser: Browser, processes: Processes, settings: ConverterSettings) {
    this.#browser = browser;
    this.#processes = processes;
    this.#settings = settings;
    browser.once('disconnected', () => {
      this.#lose('crashed');
      settings.onEvent({ type: 'browser_ended', documents: this.#documents, reason: this.#ended! });
    });
    if (!browser.isConnected()) this.#lose('crashed');
  }

  /** Whether the browser takes another document. */
  get accepts(): boolean {
    return this.#ended === undefined && this.#documents < this.#settings.recycleAfter;
  }

  begin(): OpenDocument {
    this.#documents += 1;
    this.#running += 1;
    this.#watch ??= setInterval(() => void this.#checkMemory(), MEMORY_CHECK_INTERVAL).unref();
    return {
      browser: this.#browser,
      openPage: async () => this.#takePage(),
      lost: this.#lost.signal,
      end: async (reason) => this.end(reason),
      [Symbol.dispose]: () => this.#finish(),
    };
  }

  /** Ends the browser at once, with the documents that it converts. */
  async end(reason: BrowserEnd): Promise<void> {
    this.#lose(reason);
    // A browser that does not respond does not close either.
    if (reason === 'memory' || reason === 'unresponsive') this.#processes.kill();
    await this.#browser.close().catch(() => {});
  }

  async #takePage(): Promise<EmptyPage> {
    const prepared = this.#nextPage;
    this.#nextPage = undefined;
    const page = prepared ?? (await openPage(this.#browser, this.#settings.assets));
    void this.#prepareNextPage();
    return page;
  }

  async #prepareNextPage(): Promise<void> {
    if (this.#isPreparing || this.#nextPage || !this.accepts) return;
    this.#isPreparing = true;
    try {
      const next = await openPage(this.#browser, this.#settings.assets);
      next.page.once('crash', () => {
        if (this.#nextPage === next) this.#nextPage = undefined;
      });
      this.#nextPage = next;
      this.#isPreparing = false;
    } catch {
      // The browser or the page's process has ended. Each document then opens its page itself.
    }
  }

  #finish(): void {
    this.#running -= 1;
    if (this.#running > 0) return;
    clearInterval(this.#watch);
    this.#watch = undefined;
    if (!this.accepts) void this.end('recycled');
  }

  #lose(reason: BrowserEnd): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    clearInterval(this.#watch);
    this.#lost.abort(lostError(reason, this.#settings));
  }

  async #checkMemory(): Promise<void> {
    if ((await this.#processes.memory()) > this.#settings.maxMemory) await this.end('memory');
  }
}

async function launch({ executablePath, sandbox }: ConverterSettings): Promise<Browser> {
  const { chromium } = await loadPlaywright();
  try {
    return await chromium.launch({
      executablePath,
      chromiumSandbox: sandbox,
      args: [...NO_NETWORK, ...NO_DISPLAY],
      env: environment(),
      // The host handles signals. Chromium ends when this process does, because its pipe closes.
      handleSIGINT: false,
      handleSIGTERM: false,
      handleSIGHUP: false,
    });
  } catch (error) {
    throw new HtmlToPdfError(
      'ERR_HTML_TO_PDF_BROWSER',
      `Chromium did not start (${executablePath}): ${firstLine(error)}. Run it by hand with --headless --dump-dom about:blank.`,
      { cause: error },
    );
  }
}

async function loadPlaywright(): Promise<typeof import('playwright-core')> {
  try {
    return await import('playwright-core');
  } catch (error) {
    throw new ConfigError('createHtmlToPdf()', 'install playwright-core: npm install playwright-core', {
      cause: error,
    });
  }
}

function environment(): Record<string, string> {
  return Object.fromEntries(
    ENVIRONMENT.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

function lostError(reason: BrowserEnd, { maxMemory }: ConverterSettings): HtmlToPdfError {
  if (reason !== 'memory') return crashError();
  return new HtmlToPdfError(
    'ERR_HTML_TO_PDF_MEMORY',
    `The browser used more than ${maxMemory} bytes and was ended. Make the document smaller, or raise maxMemory.`,
  );
}
