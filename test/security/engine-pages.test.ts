import test from 'ava';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, connect, signIn, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';

const platform = await startPlatform();
test.after.always(() => platform[Symbol.asyncDispose]());

async function signInAsBob(browser: Browser): Promise<Page> {
  return signIn(
    browser,
    await browser.open(platform.url('/oauth/login')),
    'bob@school.example',
    'battery staple',
  );
}

/** Ann signs in for an app. Before the browser has followed the redirect, Bob signs in in another tab. */
async function signInTooLate(browser: Browser, app: RegisteredApp): Promise<Page> {
  const form = await browser.open(authorizeUrl(platform, app));
  const fields = { login: 'ann@school.example', password: 'correct horse' };
  const submitted = await browser.submit(form, 'Sign in', fields);
  await signInAsBob(browser);
  return browser.get(submitted.location!);
}

async function whoIsSignedIn(browser: Browser): Promise<string | undefined> {
  const { html } = await browser.open(platform.url('/account/apps'));
  return /class="viewer"><bdi>([^<]*)</.exec(html)?.[1];
}

test('a sign-in that somebody else overtook is over, and says so on a page of ours', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const page = await signInTooLate(browser, app);
  t.is(page.status, 400);
  t.is(page.heading, 'This sign-in is no longer open');
  t.false(page.html.includes('<script'));
  t.regex(page.response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  t.is(await whoIsSignedIn(browser), 'bob@school.example', 'who signed in last');
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Authorize Reports');
});

test('redirects of the engine are no pages, and reach the browser as they are', async (t) => {
  const app = await platform.registerApp();
  for (const accept of [undefined, 'text/html', '*/*', 'text/plain']) {
    const headers = accept === undefined ? {} : { accept };
    const page = await new Browser().get(authorizeUrl(platform, app), headers);
    t.is(page.status, 303, accept);
    t.regex(page.location?.pathname ?? '', /^\/oauth\/interaction\//, accept);
    t.notRegex(page.html, /no longer open/, accept);
  }
});

test('the log has a line about it, by the reference that is on the page', async (t) => {
  const app = await platform.registerApp();
  const page = await signInTooLate(new Browser(), app);
  const reference = page.response.headers.get('x-request-id')!;
  t.true(page.text.includes(reference), page.text);
  const lines = platform.logger.lines.map(({ level, message, fields: told }) => ({
    level,
    message,
    ...told,
  }));
  const about = lines.filter((line) => 'request_id' in line && line.request_id === reference);
  t.like(about, [
    { level: 'info', message: 'authorization refused', error: 'interaction_expired', status: 400 },
  ]);
  t.is(about.length, 1);
});

test('the form that the engine would show then leads nowhere', async (t) => {
  const browser = new Browser();
  await signInAsBob(browser);
  for (const path of ['/oauth/logout/confirm', '/OAUTH/Logout/Confirm/']) {
    const answer = await browser.post(platform.url(path), new URLSearchParams({ logout: 'yes', xsrf: 'x' }));
    t.is(answer.status, 404, path);
  }
  t.is(await whoIsSignedIn(browser), 'bob@school.example');
  t.is((await connect(platform, await platform.registerApp({ firstParty: true }), { browser })).status, 200);
});
