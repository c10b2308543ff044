// Long, first: each page in each look.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

import type { AxeResults } from 'axe-core';
import type { ExecutionContext } from 'ava';
import { HtmlValidate } from 'html-validate';
import type { Response } from 'playwright-core';

import { startDeveloperPlatform } from '../developer/developers.ts';
import type { DeveloperPlatform, Member } from '../developer/developers.ts';
import { chromiumTest, openTab } from './chromium.ts';
import type { Tab } from './chromium.ts';
import { startEveryPage } from './every-page.ts';
import type { EveryPage } from './every-page.ts';

const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 320 },
  { colorScheme: 'dark', width: 320 },
] as const;
type Look = (typeof LOOKS)[number];

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** WCAG 2.2 AA with the levels it includes, and axe's best practices. */
const EVERYTHING = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Rules whose result differs between looks: colours and target sizes. */
const LOOK = ['color-contrast', 'link-in-text-block', 'target-size'];

/** The markup of HTML's living standard, as it is sent. Which of two valid forms is written is no concern of it. */
const MARKUP = new HtmlValidate({ extends: ['html-validate:standard'], elements: ['html5'] });

const test = chromiumTest();

for (const [language, looks] of [
  ['en', LOOKS],
  // German has longer words; its colours are the same.
  ['de', LOOKS.slice(2, 3)],
] as const) {
  test(`every page in ${language} is valid and accessible HTML, and fits, light and dark, on a desktop and on a phone`, async (t) => {
    t.timeout(180_000);
    await using everyPage = await startEveryPage();
    const found = await Promise.all(
      (Object.keys(everyPage.steps) as (keyof EveryPage['steps'])[]).map(async (who) =>
        checkPages(t, everyPage, { who, language, looks }),
      ),
    );
    t.deepEqual(found.flat(), []);
  });
}

/** The violations of the pages of a user, also of HTML, and how many pixels one is wider than the window. */
async function checkPages(
  t: ExecutionContext,
  { platform, steps }: EveryPage,
  { who, language, looks }: { who: Member | 'signedOut'; language: string; looks: readonly Look[] },
): Promise<readonly string[]> {
  await using page = await openTab({ reducedMotion: 'reduce', locale: language });
  const open = async (path: string): Promise<void> => void (await page.goto(platform.url(path).href));
  if (who !== 'signedOut') await enter(page, platform, who);
  const found: string[] = [];
  let shown: Response | undefined;
  page.on('response', (response) => {
    if (response.request().isNavigationRequest()) shown = response;
  });
  for (const [name, go] of Object.entries(steps[who])) {
    await go(page, open);
    const { results } = await MARKUP.validateString(await shown!.text());
    for (const { line, message, ruleId } of results.flatMap(({ messages }) => messages))
      found.push(`${name}: ${ruleId} in line ${line}: ${message}`);
    await page.evaluate(AXE);
    for (const [index, { colorScheme, width }] of looks.entries()) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const runOnly = JSON.stringify(index === 0 ? EVERYTHING : LOOK);
      const { violations } = await page.evaluate<AxeResults>(
        `axe.run({ runOnly: ${runOnly}, resultTypes: ['violations'], preload: false })`,
      );
      const look = `${name} ${colorScheme} ${width}`;
      for (const { id, nodes } of violations)
        found.push(`${look}: ${id}: ${nodes.map(({ html }) => html).join(' ')}`);
      const wider = (await page.evaluate<number>('document.documentElement.scrollWidth')) - width;
      if (wider > 0) found.push(`${look}: wider by ${wider}`);
    }
  }
  t.deepEqual(page.consoleMessages, [], who);
  return found;
}

/** Gives the browser the session of a signed-in user. */
async function enter(page: Tab, platform: DeveloperPlatform, who: Member): Promise<void> {
  const { cookies } = await platform.signInAs(who);
  await page
    .context()
    .addCookies(cookies.map(({ name, value, host, path }) => ({ name, value, domain: host, path })));
}

for (const [locale, width] of [
  ['en', 390],
  ['de', 320],
] as const) {
  test(`on a phone, in ${locale} and ${width} pixels wide, every tab is in sight, and command lines scroll`, async (t) => {
    await using everyPage = await startEveryPage();
    const { platform, steps } = everyPage;
    await using page = await openTab({ locale, viewport: { width, height: 800 } });
    await enter(page, platform, 'dora');
    const open = async (path: string): Promise<void> => void (await page.goto(platform.url(path).href));
    for (const name of [
      'settings-service',
      'settings-people',
      'settings-device',
      'permissions',
      'activity',
      'disable',
      'revoke',
    ]) {
      await steps.dora[name]!(page, open);
      const found = await page.evaluate<PhoneLayout>(PHONE_LAYOUT);
      t.is(found.tabsOutOfSight, 0, name);
      t.is(found.pageWidth, width, name);
      t.deepEqual(found.printed, found.written, name);
      t.is(found.written.length > 0, name.startsWith('settings'), name);
      if (found.nameFits) t.is(found.linesOfName, 1, `${name}: the app's name is on one line`);
    }
  });
}

interface PhoneLayout {
  readonly tabsOutOfSight: number;
  /** Whether the app's name in the heading is no longer than a line. */
  readonly nameFits: boolean;
  readonly linesOfName: number;
  /** Lines of the first command in the source and on the screen. */
  readonly written: readonly string[];
  readonly printed: readonly string[];
  readonly pageWidth: number;
}

const PHONE_LAYOUT = `(() => {
  const isShown = (link) => {
    const { left, right } = link.getBoundingClientRect();
    return left > -1 && right < innerWidth + 1;
  };
  const heading = document.querySelector('h1');
  const name = heading.querySelector('bdi');
  const onOneLine = name.cloneNode(true);
  onOneLine.style.cssText = 'position: absolute; white-space: nowrap';
  heading.append(onOneLine);
  const nameFits = onOneLine.getBoundingClientRect().width < heading.getBoundingClientRect().width - 20;
  onOneLine.remove();
  const lineHeight = parseFloat(getComputedStyle(heading).lineHeight);
  const text = document.querySelector('pre code')?.firstChild;
  const printed = new Map();
  for (let at = 0; at < (text?.length ?? 0); at += 1) {
    const range = document.createRange();
    range.setStart(text, at);
    range.setEnd(text, at + 1);
    const top = Math.round(range.getBoundingClientRect().top);
    if (text.data[at] !== '\\n') printed.set(top, (printed.get(top) ?? '') + text.data[at]);
  }
  return {
    tabsOutOfSight: [...document.querySelectorAll('.tabs a')].filter((link) => !isShown(link)).length,
    nameFits,
    linesOfName: Math.round(name.getBoundingClientRect().height / lineHeight),
    written: text ? text.data.split('\\n') : [],
    printed: [...printed.values()],
    pageWidth: document.documentElement.scrollWidth,
  };
})()`;

test('with forced colours, a button has a border and the current tab is marked', async (t) => {
  await using platform = await startDeveloperPlatform();
  const { client } = await platform.registerFor('dora');
  await using page = await openTab({ forcedColors: 'active' });
  await enter(page, platform, 'dora');
  await page.goto(platform.url(`/developer/apps/${client.id}`).href);
  const paper = await styleOf(page, 'html', 'backgroundColor');
  t.not(await styleOf(page, '.primary', 'borderTopColor'), paper);
  t.not(await styleOf(page, '.primary', 'borderTopColor'), 'rgba(0, 0, 0, 0)');
  t.is(await styleOf(page, '.tabs [aria-current]', 'borderBottomWidth'), '3px');
  t.is(await styleOf(page, '.tabs a:not([aria-current])', 'borderBottomWidth'), '0px');
});

test('with reduced motion, nothing is animated', async (t) => {
  await using platform = await startDeveloperPlatform();
  await using page = await openTab({ reducedMotion: 'no-preference' });
  await page.goto(platform.url('/oauth/login').href);
  t.is(await styleOf(page, 'button', 'transitionDuration'), '0.12s, 0.12s');
  await page.emulateMedia({ reducedMotion: 'reduce' });
  t.is(await styleOf(page, 'button', 'transitionDuration'), '0s');
});

async function styleOf(page: Tab, selector: string, property: string): Promise<string> {
  return page.evaluate<string>(
    `getComputedStyle(document.querySelector(${JSON.stringify(selector)})).${property}`,
  );
}
