import { existsSync } from 'node:fs';

/**
 * The Chromium of tests and benchmarks; `undefined`: there is none. The shell shows the same pages as the whole browser, and
 * takes half of its time.
 */
export const CHROMIUM: string | undefined = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path));
