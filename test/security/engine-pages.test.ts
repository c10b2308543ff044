import test from '../harness/test.ts';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  return { platform };
});

async function signInAsBob(browser: Browser, form?: Page): Promise<Page> {
  const { platform } = await started();
  const page = form ?? (await browser.open(platform.url('/oauth/login')));
  return signIn(browser, page, 'bob@school.example', 'battery staple');
}

async function signedInUser(browser: Browser): Promise<string | undefined> {
  const { platform } = await started();
  const { html } = await browser.open(platform.url('/account/apps'));
  return /class="viewer"><bdi>([^<]*)</.exec(html)?.[1];
}

test('a login that another login overtakes continues as the later user, on the bundled pages', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const otherTab = await browser.open(platform.url('/oauth/login'));
  const form = await browser.open(authorizeUrl(platform, app));
  const fields = { login: 'ann@school.example', password: 'correct horse' };
  const submitted = await browser.submit(form, 'Sign in', fields);
  // Before the browser has followed the redirect, Bob signs in in another tab.
  await signInAsBob(browser, otherTab);
  const page = await browser.open(submitted.location!);
  t.is(page.heading, 'Authorize Reports');
  t.true(page.text.includes('Signed in as bob@school.example'));
  t.false(page.html.includes('<script>'));
  t.regex(page.response.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
  t.is(await signedInUser(browser), 'bob@school.example');
});

test('errors of an authorization request are in the language of the page, name what is wrong, and lead on', async (t) => {
  await using german = await startPlatform({
    interactions: pages({ brand: { name: 'Acme', home: '/start' }, language: 'de' }),
  });
  const app = await german.registerApp();
  const scope = `<script>alert(1)</script>${'x'.repeat(500)}`;
  for (const [heading, parameters, told] of [
    ['Diese App ist hier nicht bekannt', { client_id: '<b>nobody' }, ''],
    ['Dieser Link führt nicht zur App zurück', { redirect_uri: 'https://evil.example/"><b>' }, ''],
    ['Diese App verlangt zu viel', { scope }, ` <script>alert(1)</script>${'x'.repeat(74)}… `],
  ] as const) {
    const page = await new Browser().get(authorizeUrl(german, app, parameters));
    t.is(page.status, 400, heading);
    t.is(page.heading, heading);
    t.true(page.text.includes(told), page.text);
    t.notRegex(page.html, /<b>|<script>|client is invalid|not allowed|did not match|evil/);
    t.regex(page.html, /<a class="button" href="\/start">Zu Acme<\/a>/);
  }
  const quoted = await new Browser().get(authorizeUrl(german, app, { scope: 'a"b' }));
  t.regex(quoted.text, /Scope, den es hier nicht gibt oder nicht für diese App a"b/);
  const expired = await new Browser().get(german.url('/oauth/interaction/gone'));
  t.is(expired.status, 400);
  t.is(expired.heading, 'Diese Anmeldung ist nicht mehr offen');
  t.regex(expired.html, /href="\/start">Zu Acme</);
});

test('redirects of the engine are not replaced by a page', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  for (const accept of [undefined, 'text/html', '*/*', 'text/plain']) {
    const headers = accept === undefined ? {} : { accept };
    const page = await new Browser().get(authorizeUrl(platform, app), headers);
    t.is(page.status, 303, accept);
    t.regex(page.location?.pathname ?? '', /^\/oauth\/interaction\//, accept);
    t.notRegex(page.html, /no longer open/, accept);
  }
});

test('the logout confirmation of the engine is not reachable', async (t) => {
  const { platform } = await started();
  const browser = new Browser();
  await signInAsBob(browser);
  for (const path of ['/oauth/logout/confirm', '/OAUTH/Logout/Confirm/']) {
    const answer = await browser.post(platform.url(path), new URLSearchParams({ logout: 'yes', xsrf: 'x' }));
    t.is(answer.status, 404, path);
  }
  t.is(await signedInUser(browser), 'bob@school.example');
  t.is(
    (await runCodeFlow(platform, await platform.registerApp({ firstParty: true }), { browser })).status,
    200,
  );
});
