import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { pkce } from '../harness/pkce.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { asClient, exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const web = await platform.registerApp({
    redirectUris: [CALLBACK, 'https://reports.example/with?tenant=7', 'http://127.0.0.1:8080/web'],
  });
  const native = await platform.registerApp({
    name: 'Desk',
    native: true,
    confidential: false,
    redirectUris: ['http://127.0.0.1/done', 'http://[::1]:4000/done', 'com.example.desk:/done'],
  });
  for (const redirect_uri of web.client.redirectUris)
    await authorize(platform, web, { browser, parameters: { redirect_uri } });
  return { platform, web, native };
});

const CALLBACK = 'https://reports.example/callback';

const { parameters: S256, verifier: VERIFIER } = pkce();

// A browser with a session and consents: with a registered redirect URI it gets a code at once.
const browser = new Browser();

function isRefused({ status, location, heading, response, html }: Page): boolean {
  return (
    status === 400 &&
    location === undefined &&
    heading === 'This link does not lead back to the app' &&
    (response.headers.get('content-type') ?? '').startsWith('text/html') &&
    !/http-equiv="?refresh|<script|window\.location/i.test(html)
  );
}

const SIMILAR = [
  // letters
  'https://reports.example/Callback',
  'https://Reports.example/callback',
  'HTTPS://reports.example/callback',
  'https://reports.example/callbac',
  // scheme
  'http://reports.example/callback',
  'javascript://reports.example/callback',
  // port
  'https://reports.example:443/callback',
  'http://127.0.0.1:8081/web',
  'http://2130706433:8080/web',
  // host
  'https://reports.example.evil.example/callback',
  'https://evil.example/callback',
  'https://reports.example./callback',
  'https://reports.exampl\u0435/callback',
  'https://reports.example\u3002evil.example/callback',
  // userinfo
  'https://reports.example@evil.example/callback',
  'https://user@reports.example/callback',
  'https://evil.example\\@reports.example/callback',
  // path
  'https://reports.example/',
  'https://reports.example/callback/',
  'https://reports.example/x/../callback',
  'https://reports.example/callback/../evil',
  'https://reports.example/%63allback',
  'https:\\\\reports.example\\callback',
  '//reports.example/callback',
  // query and fragment
  'https://reports.example/callback?',
  'https://reports.example/callback#',
  'https://reports.example/with',
  'https://reports.example/with?tenant=7&x=1',
  'https://reports.example/with?tenant=%37',
  // blanks and controls
  'https://reports.example/callback ',
  'https://reports.example/callback\r\nSet-Cookie: a=b',
  'https://reports.example/callback\u0000',
  // patterns and lists
  'https://reports.example/*',
  '.*',
  `${CALLBACK},https://evil.example/`,
  `${CALLBACK} https://evil.example/`,
  `["${CALLBACK}"]`,
  '__proto__',
  'x'.repeat(4000),
];

test('registered redirect URIs get a code', async (t) => {
  const { web, platform } = await started();
  for (const redirectUri of web.client.redirectUris) {
    const page = await browser.open(authorizeUrl(platform, web, { redirect_uri: redirectUri }));
    // For the device itself, consent is asked for each time.
    const isAsked = page.location === undefined;
    t.is(isAsked, redirectUri.startsWith('http://127.0.0.1'), redirectUri);
    const { location } = isAsked ? await browser.follow(await browser.submit(page, 'Authorize')) : page;
    t.truthy(location?.searchParams.get('code'), redirectUri);
    t.true(location!.href.startsWith(redirectUri), redirectUri);
  }
});

test('a redirect URI that is similar to a registered one gets an error page with 400', async (t) => {
  const { platform, web } = await started();
  for (const redirectUri of SIMILAR) {
    const page = await browser.get(authorizeUrl(platform, web, { redirect_uri: redirectUri }));
    t.true(isRefused(page), `${redirectUri} -> ${page.status} ${page.location?.href}`);
  }
});

test('a redirect URI that is encoded twice does not match', async (t) => {
  const { platform, web } = await started();
  for (const written of [
    encodeURIComponent(encodeURIComponent(CALLBACK)),
    `${encodeURIComponent(CALLBACK)}%ff`,
    `${encodeURIComponent(CALLBACK)}+`,
    'https%3A%2F%2Freports.example%2Fcallback%26x',
    '%zz',
  ]) {
    const url = authorizeUrl(platform, web);
    url.searchParams.delete('redirect_uri');
    t.true(isRefused(await browser.get(`${url.href}&redirect_uri=${written}`)), written);
  }
});

test('a wrong redirect URI gets an error page whatever other errors the request has', async (t) => {
  const { platform, web } = await started();
  for (const parameters of [
    { response_type: 'token' },
    { scope: 'unknown' },
    { prompt: 'none' },
    { response_mode: 'form_post' },
    { response_mode: 'fragment' },
    { request: 'x' },
    { request_uri: 'https://evil.example/' },
    { resource: 'https://evil.example/' },
    { code_challenge: 'x' },
    { state: 'x'.repeat(4000) },
  ]) {
    const evil = { redirect_uri: 'https://evil.example/callback', ...parameters };
    for (const agent of [browser, new Browser()])
      t.true(isRefused(await agent.get(authorizeUrl(platform, web, evil))), JSON.stringify(parameters));
  }
});

test('a wrong redirect URI with repeated parameters gets an error page', async (t) => {
  const { platform, web } = await started();
  for (const name of ['state', 'scope', 'response_type', 'client_id', 'redirect_uri']) {
    const url = authorizeUrl(platform, web, { redirect_uri: 'https://evil.example/callback' });
    url.searchParams.append(name, name === 'redirect_uri' ? CALLBACK : 'x');
    const { status, location } = await browser.get(url);
    t.is(status, 400, name);
    t.is(location, undefined, name);
  }
});

test('redirect_uri is required at both endpoints, also for a client with one redirect URI', async (t) => {
  const { platform, web, native } = await started();
  const app = await platform.registerApp({ redirectUris: [CALLBACK] });
  for (const client of [app, web, native]) {
    const url = authorizeUrl(platform, client, S256);
    url.searchParams.delete('redirect_uri');
    const { status, location, heading } = await browser.get(url);
    t.deepEqual([status, location, heading], [400, undefined, 'This link is incomplete']);
  }

  const code = (await authorize(platform, app, { browser: new Browser() })).get('code')!;
  const exchange = { grant_type: 'authorization_code', code, ...asClient(app) };
  const missing = await platform.token(exchange);
  t.is(missing.status, 400);
  t.deepEqual(missing.body, {
    error: 'invalid_request',
    error_description: "missing required parameter 'redirect_uri'",
  });
  t.is((await platform.token({ ...exchange, redirect_uri: CALLBACK })).status, 200);
});

test('the error page does not show the redirect URI, and says where the developer finds it', async (t) => {
  const { platform, web } = await started();
  const redirectUri = 'https://evil.example/?"><a href="https://evil.example/">click</a>';
  const { html, text } = await browser.get(authorizeUrl(platform, web, { redirect_uri: redirectUri }));
  t.false(html.includes('evil.example'));
  t.regex(text, /Compare redirect_uri in the address of this page/);
});

test('the redirect URI of another client is refused, and one that was removed at once', async (t) => {
  const { platform, web } = await started();
  const other = await platform.registerApp({ redirectUris: ['https://other.example/callback'] });
  t.true(isRefused(await browser.get(authorizeUrl(platform, web, { redirect_uri: other.redirectUri }))));
  t.is((await browser.get(authorizeUrl(platform, other))).status, 303);
  await platform.auth.clients.update(other.client.id, { redirectUris: [CALLBACK] });
  t.true(isRefused(await browser.get(authorizeUrl(platform, other))));
});

test('a native app may use any port of its loopback redirect URI (RFC 8252 section 7.3)', async (t) => {
  const { platform, native } = await started();
  for (const redirectUri of [
    'http://127.0.0.1/done',
    'http://127.0.0.1:51004/done',
    'http://127.0.0.1:80/done',
    'http://[::1]:1/done',
    'http://[::1]:4000/done',
    'http://[::1]/done',
    'com.example.desk:/done',
  ]) {
    const url = authorizeUrl(platform, native, { redirect_uri: redirectUri, ...S256 });
    const page = await new Browser().get(url);
    t.is(page.status, 303, redirectUri);
    t.is(page.location?.origin, platform.origin, redirectUri);
  }
});

test('other parts of the loopback redirect URI of a native app are compared exactly', async (t) => {
  const { platform, native } = await started();
  for (const redirectUri of [
    'http://localhost/done',
    'http://127.0.0.2:51004/done',
    'http://127.1:51004/done',
    'http://0.0.0.0/done',
    'http://[0:0:0:0:0:0:0:1]:4000/done',
    'http://[::ffff:127.0.0.1]/done',
    'http://127.0.0.1.evil.example/done',
    'http://127.0.0.1:51004@evil.example/done',
    'http://user@127.0.0.1:51004/done',
    'http://127.0.0.1:51004/done/',
    'http://127.0.0.1:51004/Done',
    'http://127.0.0.1:51004/done?x=1',
    'http://127.0.0.1:51004/%64one',
    'https://127.0.0.1/done',
    'http://127.0.0.1:99999/done',
    'com.example.desk://done',
    'COM.EXAMPLE.DESK:/done',
  ]) {
    const url = authorizeUrl(platform, native, { redirect_uri: redirectUri, ...S256 });
    const page = await new Browser().get(url);
    t.true(isRefused(page), `${redirectUri} -> ${page.status} ${page.location?.href}`);
  }
});

test('the code of a native app is bound to the port of its redirect URI', async (t) => {
  const { platform, native } = await started();
  const parameters = { ...S256, redirect_uri: 'http://127.0.0.1:51004/done' };
  const exchange = async (redirectUri: string): Promise<number> => {
    const callback = await authorize(platform, native, { parameters });
    const { status } = await platform.token({
      grant_type: 'authorization_code',
      client_id: native.client.id,
      redirect_uri: redirectUri,
      code: callback.get('code'),
      code_verifier: VERIFIER,
    });
    return status;
  };
  t.is(await exchange('http://127.0.0.1:51005/done'), 400);
  t.is(await exchange('http://127.0.0.1/done'), 400);
  t.is(await exchange('http://127.0.0.1:51004/done'), 200);
});

test('the port of a loopback redirect URI of a confidential client is compared exactly', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ redirectUris: ['http://127.0.0.1/done'] });
  const redirect_uri = 'http://127.0.0.1:51004/done';
  t.true(isRefused(await new Browser().get(authorizeUrl(platform, app, { redirect_uri }))));
});

test('the redirect URI must be the same at the token endpoint', async (t) => {
  const { platform, web } = await started();
  const own = new Browser();
  await signIn(own, await own.open(authorizeUrl(platform, web)));
  for (const [redirectUri, status, error] of [
    [CALLBACK, 200, undefined],
    ['https://reports.example/with?tenant=7', 400, 'invalid_grant'],
    [`${CALLBACK}/`, 400, 'invalid_grant'],
    ['https://evil.example/', 400, 'invalid_grant'],
    [undefined, 400, 'invalid_request'],
    ['', 400, 'invalid_request'],
  ] as const) {
    const callback = await authorize(platform, web, { browser: own });
    const answer = await exchangeCode(platform, web, callback.get('code'), { redirect_uri: redirectUri });
    t.is(answer.status, status, redirectUri);
    t.is(answer.body.error, error, redirectUri);
  }
});
