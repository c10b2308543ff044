import { existsSync } from 'node:fs';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

const GIVEN = process.env['CHROMIUM'];
const PATHS = GIVEN ? [GIVEN] : ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = PATHS.find((path) => existsSync(path));
const MISSING = `There is no Chromium at ${PATHS.join(', ')}. Install it with \`sudo apt-get install chromium\`, or say where it is with CHROMIUM=/path/to/chromium.`;

/** Chromium's own errands, which a machine without a network would wait for. */
const QUIET = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

let browser: Browser | undefined;

/**
 * `test` for a file that needs Chromium: one for all its tests, which run one after the other. Where there is none they
 * are skipped, and the file says so; with `CI` set they fail.
 */
export function chromiumTest(): (title: string, run: (t: ExecutionContext) => Promise<void>) => void {
  if (executablePath === undefined) {
    test('NOT RUN, for want of Chromium', (t) => {
      t.log(MISSING);
      if (process.env['CI']) t.fail(MISSING);
      else t.pass();
    });
    return test.serial.skip;
  }
  test.before('start Chromium', async () => {
    browser = await chromium.launch({ args: QUIET, executablePath });
  });
  test.after.always('stop Chromium', async () => browser?.close());
  return test.serial;
}

/** A page of a browser, with what it said in the console. */
export type Tab = Page & {
  /** Every message in the console and every error, but for the status of the page itself. */
  readonly complaints: readonly string[];
  [Symbol.asyncDispose](): Promise<void>;
};

/** Opens a tab of a browser without cookies. */
export async function openTab(options: BrowserContextOptions = {}): Promise<Tab> {
  const context = await browser!.newContext(options);
  context.setDefaultTimeout(10_000);
  return openBeside(context);
}

/** Opens one more tab of a browser. */
export async function openBeside(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const documents = new Set<string>();
  const complaints: string[] = [];
  page.on('request', (request) => {
    if (request.isNavigationRequest()) documents.add(request.url());
  });
  page.on('console', (message) => {
    const isStatusOfPage = documents.has(message.location().url) && STATUS.test(message.text());
    if (!isStatusOfPage) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return Object.assign(page, {
    complaints,
    [Symbol.asyncDispose]: async () => context.close(),
  });
}

/** What Chromium says of a page that is answered with 4xx or 5xx. */
const STATUS = /^Failed to load resource: the server responded with a status of [45]\d\d /;
