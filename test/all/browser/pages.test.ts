import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { ExecutionContext } from 'ava';
import { HtmlValidate, StaticConfigLoader } from 'html-validate';
import type { Response } from 'playwright-core';

import { startDeveloperPlatform } from '../../developer/developers.ts';
import type { DeveloperPlatform, Member } from '../../developer/developers.ts';
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

interface Violation {
  readonly id: string;
  readonly html: readonly string[];
}

/** Of what axe tells, only what is reported is sent from the browser. */
const violationsOf = (rules: readonly string[]): string =>
  `axe.run({ runOnly: ${JSON.stringify(rules)}, resultTypes: ['violations'], preload: false }).then(({ violations }) =>
    violations.map(({ id, nodes }) => ({ id, html: nodes.map(({ html }) => html) })))`;

/** WCAG 2.2 AA with the levels it includes, and axe's best practices. */
const EVERYTHING = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Rules whose result differs between looks: colours and target sizes. */
const LOOK = ['color-contrast', 'link-in-text-block', 'target-size'];

/** Reads the configuration for the first page only, which takes longer than a page. */
class ReadOnce extends StaticConfigLoader {
  #found: ReturnType<StaticConfigLoader['getConfigFor']> | undefined;

  override getConfigFor(page: string): ReturnType<StaticConfigLoader['getConfigFor']> {
    return (this.#found ??= super.getConfigFor(page));
  }
}

/** The values of lists that begin with one instead of with its name: neither axe nor html-validate looks for them. */
const WITHOUT_NAME = `Array.from(document.querySelectorAll('dl > dd:first-child, dl > div > dd:first-child'), ({ outerHTML }) => outerHTML)`;

/** The markup of HTML's living standard, as it is sent. Which of two valid forms is written is no concern of it. */
const MARKUP = new HtmlValidate(new ReadOnce({ extends: ['html-validate:standard'], elements: ['html5'] }));

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
  // Each page has it then, without having got it from here.
  await using _axe = await page.addInitScript({ content: `globalThis.loadAxe = () => { ${AXE} };` });
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
    for (const html of await page.evaluate<readonly string[]>(WITHOUT_NAME))
      found.push(`${name}: a value without a name: ${html}`);
    await page.evaluate('loadAxe()');
    for (const [index, { colorScheme, width }] of looks.entries()) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const violations = await page.evaluate<readonly Violation[]>(
        violationsOf(index === 0 ? EVERYTHING : LOOK),
      );
      const look = `${name} ${colorScheme} ${width}`;
      for (const { id, html } of violations) found.push(`${look}: ${id}: ${html.join(' ')}`);
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
  test(`on a phone, in ${locale} and ${width} pixels wide, every tab and every line to copy is in sight`, async (t) => {
    await using everyPage = await startEveryPage();
    const { platform, steps } = everyPage;
    await using page = await openTab({ locale, viewport: { width, height: 800 } });
    await enter(page, platform, 'dora');
    const open = async (path: string): Promise<void> => void (await page.goto(platform.url(path).href));
    for (const name of [
      'overview-service',
      'overview-people',
      'overview-device',
      'settings-people',
      'permissions',
      'activity',
      'disable',
      'revoke',
    ]) {
      await steps.dora[name]!(page, open);
      const found = await page.evaluate<PhoneLayout>(PHONE_LAYOUT);
      t.is(found.tabsOutOfSight, 0, name);
      t.true(found.headerHeight < 160, `${name}: the header is ${found.headerHeight} pixels high`);
      t.is(found.pageWidth, width, name);
      t.is(found.blocks > 0, name.startsWith('overview'), name);
      t.is(found.blocksOutOfSight, 0, name);
      if (found.nameFits) t.is(found.linesOfName, 1, `${name}: the app's name is on one line`);
    }
  });
}

interface PhoneLayout {
  /** Also links of the header. */
  readonly tabsOutOfSight: number;
  readonly headerHeight: number;
  /** Whether the app's name in the heading is no longer than a line. */
  readonly nameFits: boolean;
  readonly linesOfName: number;
  /** The lines to copy, and their buttons, that are on the page, and those that are partly out of sight. */
  readonly blocks: number;
  readonly blocksOutOfSight: number;
  readonly pageWidth: number;
}

const PHONE_LAYOUT = `(() => {
  const isShown = (element) => {
    const { left, right } = element.getBoundingClientRect();
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
  const blocks = [...document.querySelectorAll('pre, pre + button')].filter((block) => block.checkVisibility());
  return {
    tabsOutOfSight: [...document.querySelectorAll('.tabs a, header nav a, .leave a')].filter((link) => !isShown(link)).length,
    headerHeight: Math.round(document.querySelector('header').getBoundingClientRect().height),
    nameFits,
    linesOfName: Math.round(name.getBoundingClientRect().height / lineHeight),
    blocks: blocks.length,
    blocksOutOfSight: blocks.filter((block) => !isShown(block) || block.scrollWidth > block.clientWidth).length,
    pageWidth: document.documentElement.scrollWidth,
  };
})()`;

test('on a desktop the header is one line: the brand at the left, the links at the right', async (t) => {
  await using everyPage = await startEveryPage();
  const { platform, steps } = everyPage;
  for (const locale of ['en', 'de']) {
    await using page = await openTab({ locale, viewport: { width: 1280, height: 800 } });
    await enter(page, platform, 'dora');
    await steps.dora['sessions']!(page, async (path) => void (await page.goto(platform.url(path).href)));
    const boxes = await page.evaluate<readonly { left: number; middle: number }[]>(`
      [...document.querySelectorAll('header .brand, header nav li, .leave a')].map((element) => {
        const { bottom, left, top } = element.getBoundingClientRect();
        return { left, middle: Math.round((top + bottom) / 2) };
      })`);
    t.true(boxes.length > 5);
    t.is(new Set(boxes.map(({ middle }) => middle)).size, 1, locale);
    t.deepEqual(
      boxes.map(({ left }) => left),
      boxes.map(({ left }) => left).toSorted((one, other) => one - other),
    );
    t.true(boxes[1]!.left > 400, locale);
  }
});

test('both answers to an app or a device are in sight, on a phone and on a desktop, and hide no focus', async (t) => {
  t.timeout(120_000);
  await using everyPage = await startEveryPage();
  const { platform, steps } = everyPage;
  await using page = await openTab({ locale: 'de' });
  await enter(page, platform, 'dora');
  const open = async (path: string): Promise<void> => void (await page.goto(platform.url(path).href));
  for (const name of Object.keys(steps.dora).filter((one) => /^(?:consent|device-request)/.test(one))) {
    await steps.dora[name]!(page, open);
    for (const viewport of [
      { width: 390, height: 844 },
      { width: 1280, height: 720 },
    ]) {
      await page.setViewportSize(viewport);
      await page.evaluate('scrollTo(0, 0)');
      const bottoms = await page.evaluate<number[]>(
        `Array.from(document.querySelectorAll('.decision button'), (button) => button.getBoundingClientRect().bottom)`,
      );
      t.is(bottoms.length, 2, name);
      t.true(Math.max(...bottoms) <= viewport.height, `${name} at ${viewport.width}: ${bottoms.join(', ')}`);
    }
  }
  await steps.dora['consent-agent-choose']!(page, open);
  await page.evaluate('scrollTo(0, 0)');
  const hidden = await page.evaluate<readonly string[]>(`(() => {
    const bar = document.querySelector('.decision');
    return [...document.querySelectorAll('.access input, summary, .switch button')].filter((field) => {
      field.focus();
      return field.getBoundingClientRect().bottom > bar.getBoundingClientRect().top + 1;
    }).map((field) => field.outerHTML);
  })()`);
  t.deepEqual(hidden, []);
});

test('with forced colours, a button has a border and the current tab is marked', async (t) => {
  await using platform = await startDeveloperPlatform();
  const { client } = await platform.registerFor('dora');
  await using page = await openTab({ forcedColors: 'active' });
  await enter(page, platform, 'dora');
  await page.goto(platform.url(`/developer/apps/${client.id}/settings`).href);
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

test('`npm run screenshot` makes a picture of a page, and names the pages when there is no such page', async (t) => {
  const script = ['--conditions=gatehouse:source', join(import.meta.dirname, 'screenshot.ts')];
  const take = async (...words: string[]): Promise<{ stdout: string }> =>
    promisify(execFile)(process.execPath, [...script, ...words]);
  const { stdout } = await take('consent', '--language', 'de', '--look', 'dark', '--width', '390');
  const picture = readFileSync(stdout.trim());
  t.deepEqual([stdout.trim(), picture.readUInt32BE(16)], ['test/screenshots/consent-de-dark-390.png', 390]);
  const error = await t.throwsAsync(take('consents'), { code: 2 });
  t.regex(error.message, /There is no page consents\./);
  t.regex((error as unknown as { stdout: string }).stdout, /\bconsent-nothing\b.*\bactivity\b/);
});
