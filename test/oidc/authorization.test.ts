import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  await authorize(platform, await platform.registerApp(), { browser: signedIn });
  return { platform };
});

/** A browser with a session: without a session errors are shown on a page. */
const signedIn = new Browser();

/** The authorization URL with the parameters exactly as given; `undefined` leaves one out. */
async function urlWith(app: RegisteredApp, changes: Record<string, string | undefined>): Promise<URL> {
  const { platform } = await started();
  const url = authorizeUrl(platform, app);
  for (const [name, value] of Object.entries(changes)) {
    if (value === undefined) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  }
  return url;
}

/** The parameters of a redirect to the app's callback. */
async function errorOf(url: URL, browser = signedIn): Promise<Record<string, string>> {
  const { location, status } = await browser.get(url);
  if (status !== 303 || !location?.href.startsWith('https://reports.example/callback?')) {
    throw new Error(`${status} ${location?.href}`);
  }
  return Object.fromEntries(location.searchParams);
}

test('after login and consent the client receives code, state and iss', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const browser = new Browser();
  const start = await browser.get(authorizeUrl(platform, app));
  t.is(start.status, 303);
  t.regex(start.location!.pathname, /^\/oauth\/interaction\/[\w-]{100,350}$/);

  const login = await browser.follow(start);
  t.is(login.heading, 'Sign in');
  const consent = await signIn(browser, login);
  t.is(consent.heading, 'Authorize Reports');

  const consented = await browser.submit(consent, 'Authorize');
  t.is(consented.status, 303);
  const end = await browser.get(consented.location!);
  t.is(end.status, 303);
  t.is(end.location!.origin + end.location!.pathname, 'https://reports.example/callback');
  t.deepEqual([...end.location!.searchParams.keys()], ['code', 'state', 'iss']);
  t.regex(end.location!.searchParams.get('code')!, /^[\w-]{43}$/);
  t.is(end.location!.searchParams.get('state'), 'xyz');
  t.is(end.location!.searchParams.get('iss'), platform.origin);
});

test('the authorization response is not cached, and has no CORS headers', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const { location, response } = await signedIn.get(await urlWith(app, { scope: undefined }), {
    origin: 'https://reports.example',
  });
  t.true(location?.searchParams.has('code'));
  t.is(response.headers.get('cache-control'), 'no-store');
  t.is(response.headers.get('access-control-allow-origin'), null);
});

test('state is returned unchanged, once', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  for (const state of [
    'a b+c%20d',
    '&code=forged&iss=https://evil.example#fragment',
    '"><script>alert(1)</script>',
    ' ',
    '\r\nSet-Cookie: a=b',
    'ÄöZ 学校 \u{1F3EB}',
    '\u0000',
    '__proto__',
    'x'.repeat(6000),
  ]) {
    const { location, response } = await signedIn.get(await urlWith(app, { state }));
    t.deepEqual(location?.searchParams.getAll('state'), [state]);
    t.is(location?.searchParams.getAll('code').length, 1);
    t.false(response.headers.getSetCookie().some((line) => line.startsWith('a=')));
    t.like(await errorOf(await urlWith(app, { state, scope: 'unknown' })), { error: 'invalid_scope', state });
  }
  const state = 'ÄöZ 学校 & + %2B "'.repeat(100);
  const callback = await authorize(platform, await platform.registerApp(), { parameters: { state } });
  t.deepEqual(callback.getAll('state'), [state], 'after login and consent');
});

test('state is absent when none was sent', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  for (const state of [undefined, '']) {
    const { location } = await signedIn.get(await urlWith(app, { state }));
    t.deepEqual([...location!.searchParams.keys()], ['code', 'iss']);
    t.false('state' in (await errorOf(await urlWith(app, { state, scope: 'unknown' }))));
  }
});

test('an unknown parameter is ignored (RFC 6749 section 3.1), and one of OpenID Connect', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const unknown = { audience: 'x', ['__proto__']: 'x', constructor: 'x', user_id: '2' };
  // Client libraries send them.
  const ofOpenId = { nonce: 'n', max_age: '0', acr_values: 'x', claims: '{', id_token_hint: 'x' };
  const callback = await authorize(platform, app, { parameters: { ...unknown, ...ofOpenId } });
  t.deepEqual([...callback.keys()], ['code', 'state', 'iss']);
});

test('without a session an error is shown on a page, except with prompt=none', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const errors = {
    invalid_scope: await urlWith(app, { scope: 'unknown' }),
    invalid_target: await urlWith(app, { resource: 'https://evil.example/' }),
    unsupported_response_type: await urlWith(app, { response_type: 'none' }),
    unsupported_response_mode: await urlWith(app, { response_mode: 'web_message' }),
    request_not_supported: await urlWith(app, { request: 'x' }),
    invalid_request: await urlWith(app, { code_challenge: 'x' }),
  };
  for (const [error, url] of Object.entries(errors)) {
    const page = await new Browser().get(url);
    t.deepEqual([page.status, page.location], [400, undefined], error);
    t.true(page.text.includes(error), page.text);
    t.like(await errorOf(url), { error, state: 'xyz' }, 'with a session the error is a redirect');
    url.searchParams.set('prompt', 'none');
    t.like(await errorOf(url, new Browser()), { error, state: 'xyz' });
  }
  t.is((await errorOf(await urlWith(app, { prompt: 'none' }), new Browser()))['error'], 'login_required');
});

test('the issuer is accepted as resource', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const { status, body } = await runCodeFlow(platform, app, { parameters: { resource: platform.origin } });
  t.is(status, 200);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
});

test('response_mode=fragment is supported', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const fragment = await signedIn.get(await urlWith(app, { response_mode: 'fragment' }));
  t.is(fragment.location?.search, '');
  t.truthy(new URLSearchParams(fragment.location?.hash.slice(1)).get('code'));
});

test('a query in the redirect URI is preserved', async (t) => {
  const { platform } = await started();
  const redirectUri = 'https://reports.example/callback?tenant=7&x=%20';
  const app = await platform.registerApp({ redirectUris: [redirectUri] });
  const callback = await authorize(platform, app);
  t.deepEqual([...callback.keys()], ['tenant', 'x', 'code', 'state', 'iss']);
  t.is(callback.get('x'), ' ');
});
