import axe from 'axe-core';
import type { AxeResults } from 'axe-core';
import { pages } from 'koa-gatehouse/interactions';

import { chromiumTest, openTab } from '../browser/chromium.ts';
import { startPlatform } from '../../harness/platform.ts';
import { serveApi } from '../../api/api.ts';
import { schoolActions } from '../../api/school-actions.ts';

const test = chromiumTest();

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 320],
] as const) {
  test(`the API page is accessible: ${colorScheme}, ${width} pixels wide`, async (t) => {
    const { create, rename } = schoolActions();
    const { origin } = await serveApi(t, {
      actions: [create, rename],
      openapi: { access: 'public', viewer: false, title: 'Schools' },
    });
    await using page = await openTab({ colorScheme, viewport: { width, height: 800 } });
    await page.route('**/favicon.ico', async (route) => route.fulfill({ status: 204 }));
    await page.goto(`${origin}/api/v1/docs`);
    t.deepEqual(page.consoleMessages, [], 'the Content-Security-Policy blocks nothing');
    t.is(
      (await page.locator('body').boundingBox())?.width,
      Math.min(width, 832),
      'as wide as the style says',
    );
    for (const summary of ['An app on a server', 'JavaScript'])
      await page.locator('summary', { hasText: summary }).locator('visible=true').first().click();
    t.is(await page.getByText('Save this as first-call.mjs').locator('visible=true').count(), 1);
    // Not as a script of the page, which its policy blocks.
    await page.evaluate(axe.source);
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

test('a developer signs in as an app of theirs and tries a call', async (t) => {
  await using platform = await startPlatform();
  const docs = platform.url('/api/v1/docs').href;
  const redirectUris = [`${docs}/oauth2-redirect.html`];
  const { client } = await platform.registerApp({ confidential: false, redirectUris });
  await using page = await openTab();
  const hosts = new Set<string>();
  page.on('request', (request) => hosts.add(new URL(request.url()).host));
  await page.goto(docs);
  await page.getByText('to see the operations that your app may call').waitFor();
  t.is(await page.locator('.opblock').count(), 0, 'nothing of the API without a token');
  const firstCall = page.locator('.first-call').first();
  t.true((await firstCall.textContent())?.includes('client_id=YOUR_CLIENT_ID'));

  await page.getByRole('button', { name: 'Authorize' }).click();
  const form = page.locator('.auth-container', { hasText: 'authorizationCode' });
  await form.getByLabel('client_id:').fill(client.id);
  const opened = page.waitForEvent('popup');
  await form.getByRole('button', { name: 'Authorize' }).click();
  const popup = await opened;
  await popup.getByLabel('Email').fill('ann@school.example');
  await popup.getByLabel('Password').fill('correct horse');
  await popup.getByRole('button', { name: 'Sign in' }).click();
  const closed = popup.waitForEvent('close');
  await popup.getByRole('button', { name: 'Authorize' }).click();
  await closed;
  await page.getByRole('button', { name: 'Close' }).last().click();

  t.true((await firstCall.textContent())?.includes(`client_id=${client.id}`));
  const identity = page.locator('.opblock', { hasText: '/identity' });
  await identity.getByRole('button', { name: 'get /identity' }).first().click();
  await identity.getByRole('button', { name: 'Try it out' }).click();
  await identity.getByRole('button', { name: 'Execute' }).click();
  const response = identity.locator('.live-responses-table .highlight-code').first();
  t.regex((await response.textContent()) ?? '', /"client_id": ?"[\w-]+"/);
  t.deepEqual([...hosts], [new URL(docs).host], 'nothing is asked of another server');
  // Of its field for a secret.
  const errors = page.consoleMessages.filter((message) => !message.startsWith('[DOM] Password field'));
  t.deepEqual(errors, []);
});

test('the page has the brand of the pages, in its colours, and a way back to the platform', async (t) => {
  const logo = `data:image/svg+xml,${encodeURIComponent('<svg xmlns="http://www.w3.org/2000/svg" width="80" height="36"/>')}`;
  const brand = { name: 'Acme <Schools>', logo, accent: '#7b1fa2', home: '/start' };
  await using platform = await startPlatform({ interactions: pages({ brand }) });
  await using page = await openTab({ colorScheme: 'light' });
  await page.goto(platform.url('/api/v1/docs').href);
  const button = page.getByRole('button', { name: 'Authorize' });
  await button.waitFor();
  const colour = "getComputedStyle(document.querySelector('.btn.authorize')).color";
  t.is(await page.evaluate<string>(colour), 'rgb(123, 31, 162)');
  const shown = page.locator('header img');
  t.is(await shown.getAttribute('alt'), brand.name);
  const loaded = "document.querySelector('header img').naturalWidth";
  t.is(await page.evaluate<number>(loaded), 80, 'the policy of the page allows it');
  const back = page.getByRole('link', { name: 'Go to Acme <Schools>' });
  t.is(await back.getAttribute('href'), platform.url('/start').href);
  t.deepEqual(page.consoleMessages, []);
});

test('a developer who has a token sees what it may call', async (t) => {
  await using platform = await startPlatform();
  const service = await platform.registerService();
  const token = await platform.auth.issueToken({ clientId: service.client.id });
  await using page = await openTab();
  await page.goto(platform.url('/api/v1/docs').href);
  await page.getByRole('button', { name: 'Authorize' }).click();
  const form = page.locator('.auth-container', { hasText: 'An access token that you already have.' });
  await form.getByRole('textbox').fill(token);
  await form.getByRole('button', { name: 'Authorize' }).click();
  await page.locator('.opblock', { hasText: '/identity' }).waitFor({ state: 'attached' });
  t.true((await page.locator('.opblock').count()) > 0);
});

for (const [colorScheme, width] of [
  ['light', 1280],
  ['dark', 1280],
  ['light', 390],
] as const) {
  test(`the viewer is accessible, with its dialog and an operation open: ${colorScheme}, ${width} pixels wide`, async (t) => {
    await using platform = await startPlatform();
    const service = await platform.registerService();
    const token = await platform.auth.issueToken({ clientId: service.client.id });
    await using page = await openTab({ colorScheme, viewport: { width, height: 800 } });
    async function check(where: string): Promise<void> {
      await page.evaluate(axe.source);
      const run =
        "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'] })";
      const { violations } = await page.evaluate<AxeResults>(run);
      t.deepEqual(
        violations.map(({ id, nodes }) => ({ id, where: nodes.map(({ html }) => html) })),
        [],
        where,
      );
      t.is(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth'), 0, where);
    }
    await page.goto(platform.url('/api/v1/docs').href);
    await page.getByText('to see the operations that your app may call').waitFor();
    await check('without a token');
    await page.getByRole('button', { name: 'Authorize' }).click();
    const form = page.locator('.auth-container', { hasText: 'An access token that you already have.' });
    await check('the dialog');
    await form.getByRole('textbox').fill(token);
    await form.getByRole('button', { name: 'Authorize' }).click();
    await page.getByRole('button', { name: 'Close' }).last().click();
    const identity = page.locator('.opblock', { hasText: '/identity' });
    await identity.getByRole('button', { name: 'get /identity' }).first().click();
    await identity.getByRole('button', { name: 'Try it out' }).click();
    await identity.getByRole('button', { name: 'Execute' }).click();
    await identity.locator('.live-responses-table').first().waitFor();
    await check('an operation');
  });
}
