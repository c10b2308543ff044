import type { ExecutionContext } from 'ava';

import type { Browser, Page } from '../harness/browser.ts';
import { startDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform, Member } from './developers.ts';

/** Fields of an app that people sign in to. */
export const REPORTS = {
  name: 'Reports',
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;

/** The developer area as somebody opens it. */
export interface Area extends DeveloperPlatform {
  readonly browser: Browser;
  /** Opens a page below `/developer/apps`. */
  readonly open: (path?: string) => Promise<Page>;
}

/** Starts a platform until the test ends, and signs somebody in. */
export async function openArea(
  t: ExecutionContext,
  member: Member = 'dora',
  given?: Parameters<typeof startDeveloperPlatform>[0],
  path = '',
): Promise<Area> {
  const platform = await startDeveloperPlatform(given, { path });
  t.teardown(async () => platform[Symbol.asyncDispose]());
  const browser = await platform.enter(member);
  return {
    ...platform,
    browser,
    open: async (below = '') => browser.open(platform.url(`/developer/apps${below}`)),
  };
}

/** The value of a field of a page. */
export function valueOf(page: Page, id: string): string {
  return new RegExp(`id="${id}"[^>]* value="([^"]*)"`).exec(page.html)?.[1] ?? '';
}

/** Whether a box is checked. */
export function isChecked(page: Page, value: string): boolean {
  return new RegExp(`value="${value}"[^>]* checked`).test(page.html);
}

/** The fields of the boxes of a page, by what they stand for. */
export function boxes(page: Page): Record<string, string> {
  const found = page.html.matchAll(/type="checkbox" id="[^"]+" name="([^"]+)" value="([^"]+)"/g);
  return Object.fromEntries([...found].map(([, name, value]) => [value!, name!]));
}
