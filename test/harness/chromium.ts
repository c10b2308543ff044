import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

import { CHROMIUM } from './chromium-path.ts';

/** Starts Chromium. */
export async function launchChromium({
  args = ['--disable-gpu'],
  executablePath = CHROMIUM,
  sandbox = false,
}: {
  readonly args?: readonly string[];
  readonly executablePath?: string | undefined;
  readonly sandbox?: boolean;
} = {}): Promise<Browser> {
  if (executablePath === undefined)
    throw new Error('Install Chromium, or say where it is with CHROMIUM=/path/to/chromium.');
  return chromium.launch({ executablePath, chromiumSandbox: sandbox, args: [...args] });
}
