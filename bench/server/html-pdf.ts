// Letters, printed by this package.
import { createHtmlToPdf } from 'koa-gatehouse/html-pdf';

import { CHROMIUM } from '../../test/harness/chromium-path.ts';
import { serveLetters } from './letters.ts';
import { serveContestant } from './serve-contestant.ts';

// As root, Chromium's sandbox does not start.
const sandbox = process.getuid?.() !== 0;

await serveContestant(() => {
  const pdf = createHtmlToPdf({ executablePath: CHROMIUM, sandbox });
  return serveLetters(async (html) => pdf.convert(html));
});
