import type { ExecutionContext } from 'ava';

import type { Browser, Page } from '../harness/browser.ts';
import { openDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform, Member, startDeveloperPlatform } from './developers.ts';

/** Fields of an app with the authorization code grant. */
export const REPORTS = {
  name: 'Reports',
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;

/** A platform with a developer area, and the browser of a signed-in user. */
export interface Area extends DeveloperPlatform {
  readonly browser: Browser;
  /** Opens a page below `/developer/apps`. */
  readonly open: (path?: string) => Promise<Page>;
}

/** Starts a platform until the test ends, and signs a user in. */
export async function openArea(
  t: ExecutionContext,
  member: Member = 'dora',
  given?: Parameters<typeof startDeveloperPlatform>[0],
  path = '',
): Promise<Area> {
  const platform = await openDeveloperPlatform(t, given, { path });
  const browser = await platform.signInAs(member);
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

/** Whether a checkbox is checked. */
export function isChecked(page: Page, value: string): boolean {
  return new RegExp(`value="${value}"[^>]* checked`).test(page.html);
}

/** The names of the checkboxes of a page, by value. */
export function boxes(page: Page): Record<string, string> {
  const found = page.html.matchAll(/type="checkbox" id="[^"]+" name="([^"]+)" value="([^"]+)"/g);
  return Object.fromEntries([...found].map(([, name, value]) => [value!, name!]));
}
