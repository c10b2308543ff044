/** Makes pictures of pages, in each look: `npm run screenshot -- --help`. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join, matchesGlob, relative } from 'node:path';
import { parseArgs } from 'node:util';

import type { Browser, Page } from 'playwright-core';

import { launchChromium } from '../../harness/chromium.ts';
import { startEveryPage } from './every-page.ts';
import type { EveryPage } from './every-page.ts';
import { toIndexedPng } from './indexed-png.ts';

const ROOT = join(import.meta.dirname, '../../..');
const FOLDER = join(ROOT, 'test/screenshots');

const USAGE = `Usage: npm run screenshot -- PAGE... [options]

Writes pictures of pages into test/screenshots. PAGE is a name of the list below, or a pattern such as 'consent*'.

  --language en,de   languages (en)
  --look light,dark  colour schemes (light,dark)
  --width 390,1280   widths of the window in pixels (390,1280)
  --docs             write docs/PAGE.png instead, as the guides show it
  --help             print this
`;

/** Under a page that a guide shows: a border, because the page may have the colour of the guide. */
const BORDER = 'html { outline: 1px solid #ccc; outline-offset: -1px }';

type Who = keyof EveryPage['steps'];

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    language: { type: 'string', default: 'en' },
    look: { type: 'string', default: 'light,dark' },
    width: { type: 'string', default: '390,1280' },
    docs: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

await using everyPage = await startEveryPage();
const names = Object.values(everyPage.steps).flatMap((steps) => Object.keys(steps));
const isUnknown = (pattern: string): boolean => !names.some((name) => matchesGlob(name, pattern));
const unknown = positionals.filter(isUnknown);

if (values.help || positionals.length === 0 || unknown.length > 0) {
  for (const name of unknown) console.error(`There is no page ${name}.\n`);
  console.log(`${USAGE}\nThe pages are declared in test/all/browser/every-page.ts:\n\n${names.join(' ')}`);
  process.exitCode = values.help ? 0 : 2;
} else {
  await using browser = await launchChromium();
  await mkdir(FOLDER, { recursive: true });
  for (const who of Object.keys(everyPage.steps) as Who[])
    for (const name of Object.keys(everyPage.steps[who]))
      if (positionals.some((pattern) => matchesGlob(name, pattern))) await take(browser, who, name);
}

async function take(browser: Browser, who: Who, name: string): Promise<void> {
  for (const locale of values.language.split(',')) {
    const page = await show(browser, { who, name, locale });
    if (values.docs) {
      await fit(page, { width: 512, least: 100 });
      const picture = await page.screenshot({ style: BORDER });
      await save(join(ROOT, `docs/${name}.png`), (await toIndexedPng(picture)) ?? picture);
    } else {
      for (const look of values.look.split(','))
        for (const width of values.width.split(',')) {
          await page.emulateMedia({ colorScheme: look as 'light' | 'dark' });
          await fit(page, { width: Number(width), least: 800 });
          const file = `${[name, locale, look, width].join('-')}.png`;
          await save(join(FOLDER, file), await page.screenshot());
        }
    }
    await page.context().close();
  }
}

/** Makes the window as high as the page: what keeps in sight while the page is scrolled would cover a part of the picture. */
async function fit(page: Page, { least, width }: { least: number; width: number }): Promise<void> {
  await page.setViewportSize({ width, height: least });
  const height = await page.evaluate<number>('document.documentElement.scrollHeight');
  await page.setViewportSize({ width, height });
}

async function save(path: string, picture: Buffer): Promise<void> {
  await writeFile(path, picture);
  console.log(relative(process.cwd(), path));
}

/** The page, in a browser of its own. */
async function show(
  browser: Browser,
  { who, name, locale }: { who: Who; name: string; locale: string },
): Promise<Page> {
  const context = await browser.newContext({ bypassCSP: true, locale, reducedMotion: 'reduce' });
  const { platform, steps } = everyPage;
  if (who !== 'signedOut') {
    const { cookies } = await platform.signInAs(who);
    await context.addCookies(
      cookies.map(({ host, name: cookie, path, value }) => ({ name: cookie, value, domain: host, path })),
    );
  }
  const page = await context.newPage();
  const of = Object.entries(steps[who]);
  const at = of.findIndex(([other]) => other === name);
  const wanted = of[at]![1];
  // A page whose steps are those of one before it is what a repetition of them leads to.
  for (const [, step] of of.slice(0, at + 1))
    if (step === wanted) await step(page, async (path) => void (await page.goto(platform.url(path).href)));
  return page;
}
