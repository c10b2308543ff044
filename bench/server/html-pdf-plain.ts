// Letters, printed by page.pdf() of playwright-core: one browser, and a page for each letter.
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';

import { CHROMIUM } from '../../test/harness/chromium-path.ts';
import { serveLetters } from './letters.ts';
import { serveContestant } from './serve-contestant.ts';

let starting: Promise<Browser> | undefined;

await serveContestant(() =>
  serveLetters(async (html) => {
    starting ??= chromium.launch(CHROMIUM === undefined ? {} : { executablePath: CHROMIUM });
    const page = await (await starting).newPage();
    try {
      await page.setContent(html);
      return await page.pdf({ format: 'a4', printBackground: true, tagged: true, outline: true });
    } finally {
      await page.close();
    }
  }),
);
