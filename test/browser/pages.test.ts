// Long, first: each page in each look.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { AxeResults } from 'axe-core';
import type { ExecutionContext } from 'ava';
import type { Language } from 'koa-gatehouse/interactions';

import { startDeveloperPlatform } from '../account/developers.ts';
import type { DeveloperPlatform, Member } from '../account/developers.ts';
import { chromiumTest, openTab } from './chromium.ts';
import type { Tab } from './chromium.ts';
import { startEveryPage } from './every-page.ts';
import type { EveryPage } from './every-page.ts';

/** A folder for screenshots and a table of the results; none by default. */
const SCREENSHOTS = process.env['SCREENSHOTS'];

const LOOKS = [
  { name: 'light-1280', colorScheme: 'light', width: 1280 },
  { name: 'dark-1280', colorScheme: 'dark', width: 1280 },
  { name: 'light-320', colorScheme: 'light', width: 320 },
  { name: 'dark-320', colorScheme: 'dark', width: 320 },
] as const;
type Look = (typeof LOOKS)[number];

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** WCAG 2.2 AA with the levels it includes, and axe's best practices. */
const EVERYTHING = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Rules whose result differs between looks: colours and target sizes. */
const LOOK = ['color-contrast', 'link-in-text-block', 'target-size'];

const test = chromiumTest();

for (const [language, looks] of [
  ['en', LOOKS],
  // German has longer words; its colours are the same.
  ['de', SCREENSHOTS ? LOOKS : LOOKS.filter(({ name }) => name === 'light-320')],
] as const) {
  test(`every page in ${language} is accessible and fits, light and dark, on a desktop and on a phone`, async (t) => {
    t.timeout(180_000);
    await using everyPage = await startEveryPage();
    const found = await Promise.all(
      Object.keys(everyPage.steps).map(async (who) =>
        checkPages(t, everyPage, { who: who as keyof EveryPage['steps'], language, looks }),
      ),
    );
    const rows = found.flat();
    const wrong = rows.filter(({ violations, overflow }) => violations.length > 0 || overflow > 0);
    t.deepEqual(wrong, []);
    t.log(`${rows.length / looks.length} pages, ${looks.length} looks: ${wrong.length} with violations`);
    if (SCREENSHOTS) writeTable(language, rows);
  });
}

/** The result of one page in one look. */
interface Row {
  readonly page: string;
  readonly look: Look['name'];
  readonly violations: readonly string[];
  /** By how many pixels the page is wider than the window. */
  readonly overflow: number;
}

async function checkPages(
  t: ExecutionContext,
  { platform, steps }: EveryPage,
  { who, language, looks }: { who: Member | 'signedOut'; language: Language; looks: readonly Look[] },
): Promise<readonly Row[]> {
  await using page = await openTab({ reducedMotion: 'reduce', locale: language });
  const open = async (path: string): Promise<void> => {
    await page.goto(platform.url(path).href);
  };
  if (who !== 'signedOut') await enter(page, platform, who);
  const rows: Row[] = [];
  for (const [name, go] of Object.entries(steps[who])) {
    await go(page, open);
    await page.evaluate(AXE);
    for (const look of looks) {
      rows.push({
        page: name,
        look: look.name,
        ...(await inspect(page, look, SCREENSHOTS || look === looks[0] ? EVERYTHING : LOOK)),
      });
      if (SCREENSHOTS) {
        await page.screenshot({
          path: join(SCREENSHOTS, language, `${name}-${look.name}.png`),
          fullPage: true,
        });
      }
    }
  }
  t.deepEqual(page.consoleMessages, [], who);
  return rows;
}

/** Gives the browser the session of a signed-in user. */
async function enter(page: Tab, platform: DeveloperPlatform, who: Member): Promise<void> {
  const { cookies } = await platform.signInAs(who);
  await page
    .context()
    .addCookies(cookies.map(({ name, value, host, path }) => ({ name, value, domain: host, path })));
}

async function inspect(
  page: Tab,
  { colorScheme, width }: Look,
  rules: readonly string[],
): Promise<Pick<Row, 'violations' | 'overflow'>> {
  await page.emulateMedia({ colorScheme });
  await page.setViewportSize({ width, height: 800 });
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'], preload: false })`,
  );
  const taken = await page.evaluate<number>('document.documentElement.scrollWidth');
  return {
    violations: violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`),
    overflow: Math.max(0, taken - width),
  };
}

function line(cells: readonly (string | number)[]): string {
  return `| ${cells.join(' | ')} |\n`;
}

function writeTable(language: Language, rows: readonly Row[]): void {
  mkdirSync(SCREENSHOTS!, { recursive: true });
  const names = [...new Set(rows.map(({ page }) => page))];
  const looks = [...new Set(rows.map(({ look }) => look))];
  const table = names.map((name) =>
    line([
      name,
      ...looks.map(
        (look) => rows.find((row) => row.page === name && row.look === look)?.violations.length ?? '',
      ),
    ]),
  );
  const head = line([`${language}: axe violations`, ...looks]) + line(['---', ...looks.map(() => '--:')]);
  writeFileSync(join(SCREENSHOTS!, `axe-${language}.md`), head + table.join(''));
}

for (const [locale, width] of [
  ['en', 390],
  ['de', 390],
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
