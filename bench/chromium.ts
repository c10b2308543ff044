import { existsSync } from 'node:fs';

/** The Chromium that all contestants print with; `undefined`: there is none. */
export const CHROMIUM: string | undefined = [
  process.env['CHROMIUM'] ?? '',
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
].find((path) => existsSync(path));
