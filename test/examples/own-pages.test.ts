import test from '../harness/test.ts';

import { createSchool } from '../../examples/own-pages.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, serveHost } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';
import { exchangeCode } from '../harness/tokens.ts';

const started = shared(async (stack) => {
  return { platform: await serveHost(stack, createSchool) };
});

async function begin(
  name = 'Reports',
  scope = 'schools:read',
): Promise<{ browser: Browser; page: Page; app: RegisteredApp }> {
  const { platform } = await started();
  const app = await platform.registerApp({ name });
  const browser = new Browser();
  return { app, browser, page: await browser.open(authorizeUrl(platform, app, { scope })) };
}

const ANN = { login: 'ann@school.example', password: 'correct horse' };

test('users sign in and authorize on the app’s own pages', async (t) => {
  const { platform } = await started();
  const { app, browser, page } = await begin();
  t.is(page.heading, 'Sign in');
  const again = await browser.submit(page, 'Sign in', { ...ANN, password: 'wrong' });
  t.is(again.status, 422);
  t.true(again.text.includes('Email or password is incorrect.'));

  const consent = await browser.follow(await browser.submit(again, 'Sign in', ANN));
  t.is(consent.heading, 'Reports asks for access');
  t.true(consent.text.includes('See your schools'));
  const { location } = await browser.follow(await browser.submit(consent, 'Allow'));
  t.is(location?.searchParams.get('state'), 'xyz');
  t.is((await exchangeCode(platform, app, location?.searchParams.get('code'))).status, 200);
});

test('a scope that the user unchecks is not granted', async (t) => {
  const { platform } = await started();
  for (const [form, granted] of [
    ['scope-0=profile', 'schools:read profile'],
    ['', 'schools:read'],
  ]) {
    const { app, browser, page } = await begin('Reports', 'schools:read profile');
    const consent = await browser.follow(await browser.submit(page, 'Sign in', ANN));
    t.regex(consent.html, /<input type="checkbox" name="scope-0" value="profile" checked> See your name/);
    const answer = await browser.post(consent.actionOf('Allow'), new URLSearchParams(form));
    const { location } = await browser.follow(answer);
    const { body } = await exchangeCode(platform, app, location?.searchParams.get('code'));
    t.is(body.scope, granted);
  }
});

test('the cancel button returns access_denied to the client', async (t) => {
  const { browser, page } = await begin();
  const consent = await browser.follow(await browser.submit(page, 'Sign in', ANN));
  const { location } = await browser.follow(await browser.submit(consent, 'Cancel'));
  t.is(location?.searchParams.get('error'), 'access_denied');
});

test('the name of a client is escaped, and forms of other sites are refused', async (t) => {
  const { browser, page } = await begin('<img src=x onerror=alert(1)>');
  t.false(page.html.includes('<img'));
  t.true(page.html.includes('&#60;img src=x onerror=alert(1)&#62;'));
  t.regex(page.response.headers.get('content-security-policy')!, /frame-ancestors 'none'/);

  const foreign = await browser.post(page.actionOf('Sign in'), new URLSearchParams(ANN), {
    origin: 'https://evil.example',
    'sec-fetch-site': 'cross-site',
  });
  t.is(foreign.status, 403);
});

test('errors have a page, also for an unknown interaction', async (t) => {
  const { platform } = await started();
  const { page } = await begin();
  const forged = page.url.href.replace(/.{6}$/, 'forged');
  t.not(forged, page.url.href);
  for (const url of [
    platform.url('/oauth/authorize?client_id=unknown&response_type=code'),
    platform.url('/oauth/interaction/unknown'),
    forged,
  ]) {
    const unknown = await new Browser().get(url);
    t.is(unknown.status, 400, String(url));
    t.is(unknown.heading, 'That did not work');
  }
});
