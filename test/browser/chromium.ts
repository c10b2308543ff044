import { existsSync } from 'node:fs';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import { chromium } from 'playwright-core';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';

const PATHS = [
  process.env['CHROMIUM'],
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
];
const executablePath = PATHS.find((path) => path !== undefined && existsSync(path));

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
  if (executablePath === undefined && !process.env['CI']) {
    test('Chromium is missing', (t) => {
      t.log(`No Chromium at ${PATHS.filter(Boolean).join(', ')}: the tests of this file were NOT run.`);
      t.pass();
    });
    return test.serial.skip;
  }
  test.before('start Chromium', async () => {
    browser = await chromium.launch({ args: QUIET, ...(executablePath ? { executablePath } : {}) });
  });
  test.after.always('stop Chromium', async () => browser?.close());
  return test.serial;
}

/** Opens a tab of a browser without cookies; what goes wrong on its pages is in `complaints`. */
export async function openTab(
  options: BrowserContextOptions = {},
): Promise<Page & { readonly complaints: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const context = await browser!.newContext(options);
  context.setDefaultTimeout(10_000);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(String(error)));
  return Object.assign(page, {
    complaints,
    [Symbol.asyncDispose]: async () => context.close(),
  });
}
