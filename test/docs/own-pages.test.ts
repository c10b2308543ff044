// Saves the consent page of docs/pages.md as a file, and authorizes an app on it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import test from '../harness/test.ts';
import type { Interactions } from 'koa-gatehouse';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { blocksOf, fileName, ROOT } from './guides.ts';

const block = blocksOf('docs/pages.md', 'ts').find(({ code }) => fileName(code) === 'consent-page.ts');

test('the consent page of the guide has at most 30 lines', (t) => {
  // Without the line with its name.
  const lines = block!.code.trim().split('\n').slice(1);
  t.true(lines.length <= 30, `${lines.length}`);
});

test('an app is authorized on it, with the scopes that stay checked; nothing, and a form of another site, are refused', async (t) => {
  // Inside the package, so that its name resolves, in a folder that git ignores.
  mkdirSync(join(ROOT, '.data'), { recursive: true });
  const folder = mkdtempSync(join(ROOT, '.data/pages-'));
  t.teardown(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'consent-page.ts');
  writeFileSync(file, block!.code);
  const { interactions } = (await import(pathToFileURL(file).href)) as { interactions: Interactions };
  await using platform = await startPlatform({
    interactions,
    scopes: {
      'schools:read': { description: 'See <your> schools', permissions: ['view_schools'], optional: true },
      profile: { description: 'See your name', permissions: [], optional: true },
    },
  });
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app, { scope: 'schools:read profile' }));
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login);
  t.is(consent.heading, 'Reports asks for access');
  t.true(consent.text.includes('You are Ann.'));
  t.true(consent.html.includes('See &lt;your&gt; schools'));
  t.is(consent.html.split(' checked>').length, 3);

  const nothing = await browser.post(consent.actionOf('Allow'), new URLSearchParams());
  t.is(nothing.status, 422);
  t.true(nothing.text.includes('Choose something, or cancel.'));
  t.false(nothing.html.includes(' checked>'));
  const chosen = new URLSearchParams({ 'scope-1': 'profile' });
  const foreign = await browser.post(consent.actionOf('Allow'), chosen, { 'sec-fetch-site': 'cross-site' });
  t.is(foreign.status, 403);

  const { location } = await browser.follow(await browser.post(consent.actionOf('Allow'), chosen));
  const { body } = await exchangeCode(platform, app, location?.searchParams.get('code'));
  t.is(body.scope, 'profile');
});
