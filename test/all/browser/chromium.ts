import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

import { CHROMIUM } from '../../harness/chromium-path.ts';
import { launchChromium } from '../../harness/chromium.ts';
import { sayMissing } from '../../harness/missing.ts';

const MISSING =
  'there is no Chromium: install chromium-headless-shell, or say where it is with CHROMIUM=/path/to/chromium';

/** Background requests of Chromium, which would wait for a network. */
const SWITCHES = [
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  // The apps of tests are on this machine, with a certificate of their own.
  '--host-resolver-rules=MAP apps.example 127.0.0.1',
];

let browser: Browser | undefined;

type SerialTest = (title: string, run: (t: ExecutionContext) => Promise<void>) => void;

/**
 * `test` for what needs Chromium and starts it: such tests run one after the other. Without Chromium they are skipped with a
 * message; with `CI` set they fail.
 */
export function needsChromium(): SerialTest {
  if (CHROMIUM !== undefined) return test.serial;
  sayMissing(MISSING);
  return test.serial.skip;
}

/** `test` for a file that needs Chromium, as {@link needsChromium}: one browser for all tests. */
export function chromiumTest(): SerialTest {
  const serialTest = needsChromium();
  if (CHROMIUM === undefined) return serialTest;
  test.before('start Chromium', async () => {
    browser = await launchChromium({ args: SWITCHES });
  });
  test.after.always('stop Chromium', async () => browser?.close());
  return serialTest;
}

/** A page of a browser, with its console messages. */
export type Tab = Page & {
  /** All console messages and errors, except for the status of the page itself. */
  readonly consoleMessages: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
};

/** Tabs that a test has finished with, by the options of their context: opening one takes longer than most tests. */
const unused = new Map<string, Page[]>();

/** Opens a tab of a browser without cookies. */
export async function openTab(options: BrowserContextOptions = {}): Promise<Tab> {
  const key = JSON.stringify(options);
  const page = unused.get(key)?.pop() ?? (await openContext(options));
  return asTab(page, async () => {
    await clear(page, options);
    unused.set(key, [...(unused.get(key) ?? []), page]);
  });
}

async function openContext(options: BrowserContextOptions): Promise<Page> {
  const context = await browser!.newContext({ ignoreHTTPSErrors: true, ...options });
  context.setDefaultTimeout(30_000);
  return context.newPage();
}

/** Removes what a test has left in a tab and its browser. */
async function clear(page: Page, options: BrowserContextOptions): Promise<void> {
  const { colorScheme = null, forcedColors = null, reducedMotion = null, viewport } = options;
  const context = page.context();
  for (const other of context.pages()) if (other !== page) await other.close();
  for (const event of ['console', 'pageerror', 'request', 'response']) page.removeAllListeners(event);
  await page.unrouteAll();
  // Leaves the site first, so that none of its responses sets another cookie.
  await page.goto('about:blank');
  await context.clearCookies();
  await page.emulateMedia({ colorScheme, forcedColors, reducedMotion });
  await page.setViewportSize(viewport ?? { width: 1280, height: 720 });
}

/** Opens another tab of a browser. */
export async function openTabIn(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  return asTab(page, async () => page.close());
}

function asTab(page: Page, dispose: () => Promise<void>): Tab {
  const documents = new Set<string>();
  const consoleMessages: string[] = [];
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents.add(request.url());
  });
  page.on('console', (message) => {
    const isStatusOfPage = documents.has(message.location().url) && STATUS.test(message.text());
    if (!isStatusOfPage) consoleMessages.push(message.text());
  });
  page.on('pageerror', (error) => consoleMessages.push(String(error)));
  return Object.assign(page, { consoleMessages, [Symbol.asyncDispose]: dispose });
}

/** Chromium's message about a page with a 4xx or 5xx status. */
const STATUS = /^Failed to load resource: the server responded with a status of [45]\d\d /;
