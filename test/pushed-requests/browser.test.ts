import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { completeFlow, signIn, signedIn } from '../harness/platform.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { pushedUrl, startPushPlatform } from './push.ts';

const CHANGED = {
  scope: 'schools:write',
  state: 'changed',
  redirect_uri: 'https://evil.example/',
  prompt: 'none',
  resource: 'https://evil.example/',
  code_challenge: 'x'.repeat(43),
  login_hint: 'evil',
};

/** No URL that the browser sees before it returns to the app has a parameter of the request. */
function isBare(url: URL): boolean {
  return [...url.searchParams.keys()].every((name) =>
    ['client_id', 'request_uri', 'consent_proof'].includes(name),
  );
}

test('what the URL says besides the reference counts for nothing, before and after login and consent', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const { parameters, verifier } = pkce();
  const url = await pushedUrl(platform, app, { ...parameters, scope: 'schools:read' }, CHANGED);
  const browser = new Browser();
  const login = await browser.open(url);
  t.is(login.heading, 'Sign in');
  const afterLogin = (
    await browser.submit(login, 'Sign in', { login: 'ann@school.example', password: 'correct horse' })
  ).location!;
  t.true(isBare(afterLogin), afterLogin.href);
  for (const [name, value] of Object.entries(CHANGED)) afterLogin.searchParams.set(name, value);
  const consent = await browser.open(afterLogin);
  t.regex(consent.text, /See your schools/);
  t.notRegex(consent.text, /Change your schools/);
  const afterConsent = (await browser.submit(consent, 'Authorize')).location!;
  t.true(isBare(afterConsent), afterConsent.href);
  for (const [name, value] of Object.entries(CHANGED)) afterConsent.searchParams.set(name, value);
  const { location } = await browser.open(afterConsent);
  t.is(location!.origin, 'https://reports.example');
  t.is(location!.searchParams.get('state'), 'xyz');
  const code = location!.searchParams.get('code');
  const { body } = await exchangeCode(platform, app, code, { code_verifier: verifier });
  t.is(body.scope, 'schools:read');
});

test('a URL without a scope is limited to the pushed one', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app, { scope: 'schools:read' });
  const callback = await completeFlow(new Browser(), url, 'cleo@school.example', 'open sesame');
  const { body } = await exchangeCode(platform, app, callback.searchParams.get('code'));
  t.is(body.scope, 'schools:read');
  const identity = await platform.api('/identity', body.access_token);
  t.like(identity.body, { data: { permissions: ['view_schools'] } });
});

test('a reference is for its client', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const other = await platform.registerApp({ name: 'Other' });
  const url = await pushedUrl(platform, app);
  url.searchParams.set('client_id', other.client.id);
  t.is((await (await signedIn(platform)).open(url)).status, 400);
});

test('an altered reference, one of a page and an unknown one are refused', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app);
  const browser = new Browser();
  const login = await browser.open(url);
  const ofPage = login.url.pathname.split('/').at(-1)!;
  for (const reference of [ofPage, 'unknown', '', 'x'.repeat(8000), `${ofPage.slice(0, -2)}AA`]) {
    url.searchParams.set('request_uri', `urn:ietf:params:oauth:request_uri:${reference}`);
    t.is((await browser.open(url)).status, 400);
  }
});

test('what a user has answered counts in that session only', async (t) => {
  await using platform = await startPushPlatform();
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app, { prompt: 'login' });
  const browser = new Browser();
  const afterLogin = (
    await browser.submit(await browser.open(url), 'Sign in', {
      login: 'bob@school.example',
      password: 'battery staple',
    })
  ).location!;
  // In the session of another user, who has not given the password for it.
  const page = await (await signedIn(platform)).open(afterLogin);
  t.is(page.heading, 'Sign in');
  t.not((await browser.open(afterLogin)).heading, 'Sign in');
});

test('private-use redirect URIs, whose consent is asked for each time', async (t) => {
  await using platform = await startPushPlatform({ required: true });
  const app = await platform.registerApp({
    confidential: false,
    redirectUris: ['com.example.app:/callback'],
    native: true,
  });
  const { parameters } = pkce();
  for (const _time of [1, 2]) {
    const callback = await completeFlow(new Browser(), await pushedUrl(platform, app, parameters));
    t.true(callback.searchParams.has('code'));
  }
});

test('refusing ends at the app, and switching the user keeps the request', async (t) => {
  await using platform = await startPushPlatform({ required: true });
  const app = await platform.registerApp();
  const browser = await signedIn(platform, 'bob@school.example', 'battery staple');
  const consent = await browser.open(await pushedUrl(platform, app));
  const login = await browser.follow(await browser.submit(consent, 'Not you?'));
  t.is(login.heading, 'Sign in');
  const again = await signIn(browser, login);
  const { location } = await browser.submit(again, 'Deny');
  t.is(location!.searchParams.get('error'), 'access_denied');
});
