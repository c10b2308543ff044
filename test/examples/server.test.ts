import test from '../harness/test.ts';
import * as openid from 'openid-client';

import { readSettings } from '../../examples/server/settings.ts';
import { Browser } from '../harness/browser.ts';
import { makeKeyPair } from '../harness/client-keys.ts';
import { pkce } from '../harness/pkce.ts';
import { signIn } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { serveExample } from './served-example.ts';
import { authorizeUrl, clientOf } from './tokens.ts';

const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { base_url: url, clients, users } = example.announced;
  const [ada] = users;
  return { example, url, clients, users, ada };
});

test('what is announced is all that scripts need', async (t) => {
  const { example, url, users, clients } = await started();
  t.deepEqual(Object.keys(example.announced), ['base_url', 'users', 'clients']);
  t.regex(url, /^http:\/\/localhost:\d+$/);
  t.deepEqual(
    users.map(({ permissions }) => permissions),
    [
      ['view_schools', 'edit_schools', 'close_schools', 'manage_apps', 'manage_all_apps'],
      ['view_schools'],
      [],
    ],
  );
  for (const user of users) t.regex(user.password, /^(\w{4}-){3}\w{4}$/);
  t.deepEqual(
    clients.map(({ name, redirect_uris: uris, permissions, client_secret: secret }) => [
      name,
      uris,
      permissions,
      secret !== null,
    ]),
    [
      ['Partner portal', [`${url}/portal/callback`], [], true],
      ['Command line', [`${url}/code`], [], true],
      ['Browser app', [`${url}/code`, `${url}/api/v1/docs/oauth2-redirect.html`], [], false],
      ['Nightly import', [], ['view_schools', 'edit_schools'], true],
      ['Status monitor', [], [], true],
    ],
  );
});

async function api(resource: string, token: unknown) {
  const { url } = await started();
  const { body } = await send(`${url}/api/v1/${resource}`, {
    headers: { authorization: `Bearer ${String(token)}` },
  });
  return body as { data: Record<string, unknown>[] & Record<string, unknown> };
}

test('client credentials: a token, no refresh token, and the schools', async (t) => {
  const { example, url } = await started();
  const { client_id, client_secret } = clientOf(example.announced, 'Nightly import');
  const request = { grant_type: 'client_credentials', client_id, client_secret, scope: '' };
  const { body, status } = await postJson(`${url}/oauth/token`, request);
  t.is(status, 200);
  t.deepEqual(Object.keys(body!).toSorted(), ['access_token', 'expires_in', 'token_type']);
  const schools = await api('schools', body!['access_token']);
  t.deepEqual(Object.keys(schools.data[0]!), ['id', 'name', 'city', 'open']);
});

test('the public app redeems its code with PKCE and without a secret', async (t) => {
  const { example, ada, url } = await started();
  const app = clientOf(example.announced, 'Browser app');
  const { parameters, verifier } = pkce();
  const browser = new Browser();
  const asked = authorizeUrl(example.announced, app, parameters);
  const consent = await signIn(browser, await browser.open(asked), ada!.login, ada!.password);
  const back = await browser.follow(await browser.submit(consent, 'Authorize'));
  const { body, status } = await postJson(`${url}/oauth/token`, {
    grant_type: 'authorization_code',
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0]!,
    code: back.url.searchParams.get('code'),
    code_verifier: verifier,
  });
  t.is(status, 200);
  const expected = ['close_schools', 'edit_schools', 'manage_all_apps', 'manage_apps', 'view_schools'];
  t.deepEqual((await api('identity', body!['access_token'])).data['permissions'], expected);
});

test('a developer gives an app a key, and openid-client authenticates with it', async (t) => {
  const { example, url, ada } = await started();
  const { client_id: id } = clientOf(example.announced, 'Status monitor');
  const { privateKey, publicJwk } = await makeKeyPair('key-1', 'Ed25519');
  const browser = new Browser();
  await signIn(browser, await browser.open(`${url}/oauth/login`), ada!.login, ada!.password);
  const page = await browser.open(`${url}/developer/apps/${id}/keys`);
  const jwks = JSON.stringify({ keys: [publicJwk] });
  t.is((await browser.submit(page, 'Save', { jwks, jwksUri: '' })).status, 303);

  const key = openid.PrivateKeyJwt({ key: privateKey, kid: 'key-1' });
  const config = await openid.discovery(new URL(url), id, undefined, key, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
  const { access_token: token } = await openid.clientCredentialsGrant(config);
  t.like((await api('identity', token)).data, { type: 'client', id });
});

test('the start page, the health endpoints and the 404 page', async (t) => {
  const { url } = await started();
  const browser = new Browser();
  t.is((await browser.get(`${url}/`)).heading, 'A small school platform');
  t.is((await browser.get(`${url}/nowhere`)).heading, 'Page not found');
  const code = await browser.get(`${url}/code?code=%3Cb%3E`);
  t.true(code.html.includes('&lt;b&gt;'));
  const none = await browser.get(`${url}/code?error=invalid_scope&error_description=%3Cb%3E`);
  t.regex(none.html, /<code>invalid_scope<\/code>.*&lt;b&gt;/s);
  for (const path of ['/livez', '/readyz']) t.deepEqual((await send(url + path)).body, { status: 'pass' });
  const missing = await send(`${url}/api/v2/schools`);
  t.is(missing.status, 404);
  t.is(missing.headers.get('content-type'), 'application/problem+json');
});

test('the metrics are served on this machine only', async (t) => {
  const { url } = await started();
  const { status, text } = await send(`${url}/metrics`);
  t.is(status, 200);
  t.regex(text, /^gatehouse_requests_in_progress \d+$/m);
  t.true((await send(url)).text.includes('href="/metrics"'));
  for (const [environment, metrics] of [
    [{}, true],
    [{ HOST: '::1' }, true],
    [{ HOST: '0.0.0.0' }, false],
    [{ HOST: 'platform.example' }, false],
    [{ BASE_URL: 'https://platform.example' }, false],
  ] as const) {
    t.is(readSettings(environment).metrics, metrics, JSON.stringify(environment));
  }
});

test('the pages are in the language of the browser, and so are the names of the scopes', async (t) => {
  const { example, ada } = await started();
  const asked = authorizeUrl(example.announced, clientOf(example.announced, 'Command line'), {
    scope: 'schools:read',
    ui_locales: 'de',
  });
  const browser = new Browser();
  const login = await browser.open(asked);
  const { login: name, password } = ada!;
  const page = await browser.follow(await browser.submit(login, 'Anmelden', { login: name, password }));
  t.regex(page.html, /<html lang="de"/);
  t.regex(page.text, /Ihre Schulen sehen/);
});

test('the gate file has the APIs of the platform, for the command line', async (t) => {
  const gate = await import('../../examples/server/gate.ts');
  t.deepEqual(
    Object.values(gate.resources).map(({ name }) => name),
    ['Larkfield statistics', 'Larkfield schools for agents'],
  );
});
