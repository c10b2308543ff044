import test from 'ava';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, connect, signIn, startPlatform } from '../harness/platform.ts';

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

async function whoIsSignedIn(browser: Browser): Promise<string | undefined> {
  const { html } = await browser.open(platform.url('/account/apps'));
  return /class="viewer"><bdi>([^<]*)</.exec(html)?.[1];
}

test('a sign-in that somebody else overtook is over, and says so on a page of ours', async (t) => {
  const app = await platform.registerApp();
  const browser = new Browser();
  const form = await browser.open(authorizeUrl(platform, app));
  const fields = { login: 'ann@school.example', password: 'correct horse' };
  const submitted = await browser.submit(form, 'Sign in', fields);
  // Before the browser has followed it, Bob signs in in another tab.
  await signInAsBob(browser);

  const page = await browser.get(submitted.location!);
  t.is(page.status, 400);
  t.is(page.heading, 'This sign-in is no longer open');
  t.false(page.html.includes('<script'));
  t.regex(page.response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  t.is(await whoIsSignedIn(browser), 'bob@school.example', 'who signed in last');
  t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Authorize Reports');
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
