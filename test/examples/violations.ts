import { join } from 'node:path';

import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import type { Page } from 'playwright-core';

/** The folder for screenshots of the pages; none by default. */
const SCREENSHOTS = process.env['SCREENSHOTS'];
const EVERYTHING = { type: 'tag', values: ['wcag2a', 'wcag2aa', 'wcag21aa', 'wcag22aa', 'best-practice'] };
/** Rules whose result differs between looks; the HTML is the same. */
const LOOK = { type: 'rule', values: ['color-contrast', 'target-size'] };
const LOOKS = [
  { colorScheme: 'light', width: 1280 },
  { colorScheme: 'dark', width: 1280 },
  { colorScheme: 'light', width: 320 },
  { colorScheme: 'dark', width: 320 },
] as const;

/** The accessibility violations of a page, and overflow on small screens. */
export async function violationsOf(page: Page, name: string): Promise<string[]> {
  const problems: string[] = [];
  // After a click, elements can be found before the style sheet has arrived.
  await page.waitForLoadState();
  await page.evaluate(axe.source);
  for (const [index, { colorScheme, width }] of LOOKS.entries()) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    const look = `${name}-${colorScheme}-${width}`;
    if (SCREENSHOTS) await page.screenshot({ path: join(SCREENSHOTS, `${look}.png`), fullPage: true });
    const rules = JSON.stringify(index === 0 ? EVERYTHING : LOOK);
    const { violations } = await page.evaluate<AxeResults>(`axe.run({ runOnly: ${rules} })`);
    problems.push(...violations.map(({ id, nodes }) => `${look}: ${id}: ${nodes[0]?.html}`));
    if (await page.evaluate<boolean>('document.documentElement.scrollWidth > innerWidth')) {
      problems.push(`${look}: wider than the screen`);
    }
  }
  return problems;
}
