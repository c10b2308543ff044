import axe from 'axe-core';
import type { AxeResults } from 'axe-core';

import { chromiumTest, openTab } from '../browser/chromium.ts';
import { serveApi } from './api.ts';
import { schoolActions } from './school-actions.ts';

const test = chromiumTest();

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 320],
] as const) {
  test(`the API page is accessible: ${colorScheme}, ${width} pixels wide`, async (t) => {
    const { create, rename } = schoolActions();
    const { origin } = await serveApi(t, {
      actions: [create, rename],
      openapi: { access: 'public', title: 'Schools' },
    });
    await using page = await openTab({ colorScheme, viewport: { width, height: 800 }, bypassCSP: true });
    await page.goto(`${origin}/api/v1/docs`);
    await page.locator('summary').first().click();
    await page.addScriptTag({ content: axe.source });
    const { violations } = await page.evaluate<AxeResults>('axe.run()');
    t.deepEqual(
      violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })),
      [],
    );
    const overflow = await page.evaluate<number>(
      'document.documentElement.scrollWidth - document.documentElement.clientWidth',
    );
    t.is(overflow, 0, 'no horizontal overflow');
  });
}

test('the style sheet applies, and the Content-Security-Policy blocks nothing', async (t) => {
  const { create } = schoolActions();
  const { origin } = await serveApi(t, { actions: [create], openapi: { access: 'public' } });
  await using page = await openTab({ javaScriptEnabled: false });
  await page.route('**/favicon.ico', async (route) => route.fulfill({ status: 204 }));
  await page.goto(`${origin}/api/v1/docs`);
  t.deepEqual(page.consoleMessages, []);
  t.is(await page.locator('h1').textContent(), 'API');
  t.is((await page.locator('body').boundingBox())?.width, 832, 'as wide as the style says');
});
