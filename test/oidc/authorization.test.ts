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

/** The authorization URL with a repeated parameter. */
async function repeated(app: RegisteredApp, name: string, value: string): Promise<URL> {
  const { platform } = await started();
  const url = authorizeUrl(platform, app);
  url.searchParams.append(name, value);
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

test('response types other than code are refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const missing = {
    error: 'invalid_request',
    error_description: "missing required parameter 'response_type'",
    state: 'xyz',
    iss: platform.origin,
  };
  for (const type of [undefined, ''])
    t.deepEqual(await errorOf(await urlWith(app, { response_type: type })), missing);
  for (const type of [
    'token',
    'none',
    'code token',
    'CODE',
    '__proto__',
    'code code',
    'code  code',
    'code ',
  ]) {
    const { location } = await signedIn.get(await urlWith(app, { response_type: type }));
    // Errors of response types with a fragment are in the fragment (OAuth 2.0 Multiple Response Types, section 5).
    const answer = new URLSearchParams(location!.search || location!.hash.slice(1));
    t.deepEqual(
      Object.fromEntries(answer),
      {
        error: 'unsupported_response_type',
        error_description: 'unsupported response_type requested',
        state: 'xyz',
        iss: platform.origin,
      },
      type,
    );
  }
});

test('a repeated parameter is refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  for (const [name, value] of [
    ['scope', ''],
    ['response_type', 'token'],
  ] as const) {
    t.like(await errorOf(await repeated(app, name, value)), {
      error: 'invalid_request',
      error_description: `'${name}' parameter must not be provided twice`,
      state: 'xyz',
    });
  }
  // With two states neither is returned.
  t.false('state' in (await errorOf(await repeated(app, 'state', 'other'))));
});

test('a repeated client_id or redirect_uri is an error page, without a redirect', async (t) => {
  const { platform } = await started();
  const uris = ['https://reports.example/callback', 'https://reports.example/other'];
  const two = await platform.registerApp({ redirectUris: uris });
  const one = await platform.registerApp();
  for (const [app, name, value] of [
    [two, 'client_id', two.client.id],
    [two, 'redirect_uri', two.redirectUri],
    [two, 'redirect_uri', uris[1]!],
    [one, 'redirect_uri', 'https://evil.example/'],
  ] as const) {
    const page = await new Browser().get(await repeated(app, name, value));
    t.is(page.status, 400, name);
    t.is(page.location, undefined, name);
    t.is(page.heading, 'This link is incomplete', name);
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

test('an unknown scope, or one that the client is not registered with, is refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  for (const scope of ['schools:read unknown', 'SCHOOLS:READ', 'openid', '**']) {
    const refused = scope.split(' ').at(-1);
    t.deepEqual(
      await errorOf(await urlWith(app, { scope })),
      {
        error: 'invalid_scope',
        error_description: `requested scope is not allowed: ${refused}`,
        scope: refused,
        state: 'xyz',
        iss: platform.origin,
      },
      scope,
    );
  }
  const unscoped = await platform.registerApp({ scopes: [] });
  t.is((await errorOf(await urlWith(unscoped, { scope: 'schools:read' })))['error'], 'invalid_scope');
  for (const scope of ['sch"ools', 'a\tb']) {
    t.like(await errorOf(await urlWith(app, { scope })), {
      error: 'invalid_scope',
      error_description: 'scope contains invalid characters',
    });
  }
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

test('an unknown or disabled client gets an error page, without a redirect', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const disabled = await platform.registerApp();
  await platform.auth.clients.disable(disabled.client.id);
  for (const [id, heading] of [
    [disabled.client.id, 'This app is not known here'],
    [app.client.id.toUpperCase(), 'This app is not known here'],
    [`${app.client.id}\u0000`, 'This app is not known here'],
    ['__proto__', 'This app is not known here'],
    ['x'.repeat(5000), 'This app is not known here'],
    [undefined, 'This link is incomplete'],
    ['', 'This link is incomplete'],
  ] as const) {
    for (const more of [{}, { scope: 'unknown' }, { prompt: 'none' }]) {
      const page = await signedIn.get(await urlWith(app, { client_id: id, ...more }));
      t.deepEqual([page.status, page.location, page.heading], [400, undefined, heading], id);
    }
  }
});

test('a client-credentials client gets an error page', async (t) => {
  const { platform } = await started();
  const service = await platform.registerService();
  for (const redirectUri of ['https://reports.example/callback', undefined]) {
    const page = await signedIn.get(await urlWith(service, { redirect_uri: redirectUri }));
    t.deepEqual([page.status, page.location], [400, undefined]);
    t.regex(page.response.headers.get('content-type')!, /^text\/html/);
  }
});

test('request objects and other resources are refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  for (const [name, value, error] of [
    ['request', 'eyJhbGciOiJub25lIn0.e30.', 'request_not_supported'],
    ['request_uri', `${platform.origin}/never-fetched`, 'request_uri_not_supported'],
    ['registration', '{}', 'registration_not_supported'],
    ['resource', 'https://evil.example/', 'invalid_target'],
    ['resource', 'nonsense', 'invalid_target'],
  ] as const) {
    t.like(await errorOf(await urlWith(app, { [name]: value })), { error, state: 'xyz' }, name);
  }
});

test('the issuer is accepted as resource', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp();
  const { status, body } = await runCodeFlow(platform, app, { parameters: { resource: platform.origin } });
  t.is(status, 200);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
});

test('response_mode=fragment is supported, modes that are unknown are refused', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const fragment = await signedIn.get(await urlWith(app, { response_mode: 'fragment' }));
  t.is(fragment.location?.search, '');
  t.truthy(new URLSearchParams(fragment.location?.hash.slice(1)).get('code'));

  const upper = await urlWith(app, { response_mode: 'web_message' });
  upper.pathname = '/OAUTH/Authorize/';
  for (const url of [
    ...(await Promise.all(
      ['web_message', 'query.jwt', '__proto__'].map(async (mode) => urlWith(app, { response_mode: mode })),
    )),
    await urlWith(app, { response_mode: 'web_message', scope: 'unknown' }),
    upper,
  ])
    t.is((await errorOf(url))['error'], 'unsupported_response_mode', url.href);
});

test('a query in the redirect URI is preserved', async (t) => {
  const { platform } = await started();
  const redirectUri = 'https://reports.example/callback?tenant=7&x=%20';
  const app = await platform.registerApp({ redirectUris: [redirectUri] });
  const callback = await authorize(platform, app);
  t.deepEqual([...callback.keys()], ['tenant', 'x', 'code', 'state', 'iss']);
  t.is(callback.get('x'), ' ');
});
