import test from 'ava';
import type { ExecutionContext } from 'ava';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { runCodeFlow } from '../harness/platform.ts';
import { REPORTS } from './area.ts';
import { openDeveloperPlatform } from './developers.ts';
import type { DeveloperPlatform, startDeveloperPlatform } from './developers.ts';
import { until } from '../harness/until.ts';

async function openAuthorizedApps(
  t: ExecutionContext,
  given?: Parameters<typeof startDeveloperPlatform>[0],
): Promise<DeveloperPlatform & { readonly browser: Browser; readonly list: () => Promise<Page> }> {
  const platform = await openDeveloperPlatform(t, given);
  const browser = await platform.signInAs('ann');
  return { ...platform, browser, list: async () => browser.open(platform.url('/account/apps')) };
}

test('without authorized apps the page explains what it is for', async (t) => {
  const { list } = await openAuthorizedApps(t);
  const page = await list();
  t.is(page.heading, 'Connected apps');
  t.true(page.text.includes('No app can use your Acme Schools account.'));
  t.false(page.html.includes('Your apps'));
});

test('an app is listed with its scopes, and disconnected after a confirmation page', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { browser, list, registerFor } = platform;
  const app = await registerFor('dora', REPORTS);
  const { body } = await runCodeFlow(platform, app, {
    browser,
    parameters: { scope: 'schools:read' },
  });
  let page = await list();
  t.true(page.text.includes('Reports Disconnect Reports It can: See your schools Authorized'));
  await until(async () => {
    page = await list();
    return page.text.includes('Last used');
  });
  t.regex(page.text, /Authorized \w+ \d+, \d{4} · Last used \w+ \d+, \d{4}/);
  t.is((await platform.api('/identity', body.access_token)).status, 200);

  const link = /href="([^"]+\/disconnect)"/.exec(page.html)?.[1] ?? '';
  const question = await browser.open(new URL(link, page.url));
  t.is(question.heading, 'Disconnect Reports ?');
  t.true(question.text.includes('It loses its access to your account at once.'));
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  const done = await browser.submit(question, 'Disconnect');
  t.is(done.status, 303);
  t.is(done.location?.href, platform.url('/account/apps?done=disconnected').href);
  const after = await browser.follow(done);
  t.true(after.text.startsWith('The app is disconnected. It has no access to your account any more.'));
  t.false(after.html.includes('Reports'));
  t.is((await platform.api('/identity', body.access_token)).status, 401);

  // A second click, and a link that was stored.
  t.is((await browser.submit(question, 'Disconnect')).location?.pathname, '/account/apps');
  t.is((await browser.get(new URL(link, page.url))).location?.pathname, '/account/apps');
});

test('an app without scopes may do everything; a disabled app is shown as disabled', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { auth, browser, list, registerFor } = platform;
  const app = await registerFor('dora', { ...REPORTS, name: '<b>Reports' });
  await runCodeFlow(platform, app, { browser });
  t.true((await list()).text.includes('It can do everything that you can do.'));
  await auth.clients.disable(app.client.id);
  const page = await list();
  t.true(page.text.includes('Switched off'));
  t.true(page.html.includes('<bdi>&lt;b&gt;Reports</bdi>'));
});

test('a user cannot disconnect an app for another user, and a form of another site is refused', async (t) => {
  const platform = await openAuthorizedApps(t);
  const { browser, signInAs, registerFor, url } = platform;
  const app = await registerFor('dora', REPORTS);
  const emils = await signInAs('emil');
  const { body } = await runCodeFlow(platform, app, { browser: emils });
  const address = url(`/account/apps/${app.client.id}/disconnect`);

  t.is((await browser.get(address)).location?.pathname, '/account/apps');
  t.is((await browser.post(address, new URLSearchParams())).status, 303);
  const crossed = await emils.post(address, new URLSearchParams(), { 'sec-fetch-site': 'cross-site' });
  t.is(crossed.status, 403);
  await emils.get(address);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  for (const id of ['%00', 'x'.repeat(2000), '..%2f..', '%F0%9F%92%A3', '%FF']) {
    const answer = await browser.post(url(`/account/apps/${id}/disconnect`), new URLSearchParams());
    t.true(answer.status < 500, id);
  }
});

test('the page redirects to the login, and a form without a session is refused', async (t) => {
  const { url } = await openAuthorizedApps(t);
  const browser = new Browser();
  const answer = await browser.get(url('/account/apps'));
  t.is(answer.status, 303);
  t.is(answer.location?.href, url('/oauth/login?return_to=%2Faccount%2Fapps').href);
  const posted = await browser.post(url('/account/apps/x/disconnect'), new URLSearchParams());
  t.is(posted.heading, 'You are no longer signed in');
});

test('accountPath moves the page, and developerPath: false switches the developer area off', async (t) => {
  const { browser, url } = await openAuthorizedApps(t, { paths: { account: '/me/apps', developer: false } });
  t.is((await browser.open(url('/me/apps'))).heading, 'Connected apps');
  t.is((await browser.open(url('/account/apps'))).status, 404);
  t.is((await browser.open(url('/developer/apps'))).status, 404);
});
