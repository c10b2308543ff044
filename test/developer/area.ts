import type { Browser, Page } from '../harness/browser.ts';
import { startDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform, Member } from './developers.ts';
import { endWith } from '../harness/serve.ts';
import type { Owner } from '../harness/serve.ts';

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

/** Starts a platform, and signs a user in. */
export async function startArea(
  member: Member = 'dora',
  given?: Parameters<typeof startDeveloperPlatform>[0],
  path = '',
): Promise<Area> {
  const platform = await startDeveloperPlatform(given, { path });
  const browser = await platform.signInAs(member);
  return {
    ...platform,
    browser,
    open: async (below = '') => browser.open(platform.url(`/developer/apps${below}`)),
  };
}

/** {@link startArea}, with an owner. */
export async function openArea(owner: Owner, ...options: Parameters<typeof startArea>): Promise<Area> {
  return endWith(owner, await startArea(...options));
}

/** The URL of the first link of a page whose tag goes on so, such as `[^"]+" rel="next"`. */
export function linkOn({ html, url }: Page, pattern: string): URL | undefined {
  const [href] = new RegExp(`(?<=href=")${pattern}`).exec(html)?.[0].split('"') ?? [];
  return href === undefined ? undefined : new URL(href.replaceAll('&amp;', '&'), url);
}

/** The URL of the next page of a list; `undefined` on the last one. */
export function nextPageOn(page: Page): URL | undefined {
  return linkOn(page, '[^"]+" rel="next"');
}

let forms = 0;
/** The single-use string of a new form. */
export function once(): string {
  forms += 1;
  return `form-number-${forms}`;
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
