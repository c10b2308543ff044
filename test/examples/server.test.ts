import { createHash } from 'node:crypto';

import test from 'ava';

import { readSettings } from '../../examples/server/settings.ts';
import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { send } from '../harness/requests.ts';
import { startForScripts, temporaryDirectory } from './running-example.ts';
import type { AnnouncedClient } from './running-example.ts';

const directory = await temporaryDirectory();
const example = await startForScripts({ dataDirectory: directory.path });
const { announced } = example;

test.after.always(async () => {
  await example.stop();
  await directory[Symbol.asyncDispose]();
});

test('--json prints one line with all data for scripts', (t) => {
  t.is(example.output.trimEnd().split('\n').length, 1);
  t.deepEqual(Object.keys(announced), ['base_url', 'users', 'clients']);
  t.regex(announced.base_url, /^http:\/\/localhost:\d+$/);
  t.deepEqual(
    announced.users.map(({ permissions }) => permissions),
    [
      ['view_schools', 'edit_schools', 'close_schools', 'manage_apps', 'manage_all_apps'],
      ['view_schools'],
      [],
    ],
  );
  for (const user of announced.users) t.regex(user.password, /^(\w{4}-){3}\w{4}$/);
  t.deepEqual(
    announced.clients.map(({ name, grant_type: grantType, redirect_uris: uris, permissions }) => ({
      name,
      grantType,
      uris,
      permissions,
    })),
    [
      {
        name: 'Partner portal',
        grantType: 'authorization_code',
        uris: [`${announced.base_url}/portal/callback`],
        permissions: [],
      },
      {
        name: 'Command line',
        grantType: 'authorization_code',
        uris: [`${announced.base_url}/code`],
        permissions: [],
      },
      {
        name: 'Browser app',
        grantType: 'authorization_code',
        uris: [`${announced.base_url}/code`, `${announced.base_url}/api/v1/docs/oauth2-redirect.html`],
        permissions: [],
      },
      {
        name: 'Nightly import',
        grantType: 'client_credentials',
        uris: [],
        permissions: ['view_schools', 'edit_schools'],
      },
      { name: 'Status monitor', grantType: 'client_credentials', uris: [], permissions: [] },
    ],
  );
  t.deepEqual(
    announced.clients.map(({ client_secret: secret }) => secret === null),
    [false, false, true, false, false],
  );
});

test('client credentials: a token, no refresh token, and the schools', async (t) => {
  const answer = await token({
    grant_type: 'client_credentials',
    ...credentials('Nightly import'),
    scope: '',
  });
  t.is(answer.status, 200);
  t.deepEqual(Object.keys(answer.body).toSorted(), ['access_token', 'expires_in', 'token_type']);
  const schools = await api('schools', answer.body.access_token);
  t.is(schools.status, 200);
  t.deepEqual(Object.keys(schools.body.data[0]), ['id', 'name', 'city', 'open']);
});

test('without the permission the schools are 403 with a message', async (t) => {
  const { body } = await token({
    grant_type: 'client_credentials',
    ...credentials('Status monitor'),
    scope: '',
  });
  const schools = await api('schools', body.access_token);
  t.is(schools.status, 403);
  t.is(schools.body.message, 'Missing permission to view schools.');
});

test('authorization code: the pages, the token request, the identity and the refresh', async (t) => {
  const app = client('Command line');
  const callback = await authorize(app, 'ruth@platform.example', { state: 'a state' });
  t.is(callback.get('state'), 'a state');

  const redirectUri = app.redirect_uris[0]!;
  const exchange = {
    grant_type: 'authorization_code',
    ...credentials(app.name),
    redirect_uri: redirectUri,
    code: callback.get('code')!,
  };
  const first = await token(exchange);
  t.is(first.status, 200);
  t.is((await api('identity', first.body.access_token)).body.data.email, 'ruth@platform.example');
  t.is((await api('schools', first.body.access_token)).status, 200);
  t.is((await token(exchange)).body.error, 'invalid_grant');
});

test('refresh: new tokens for the same user', async (t) => {
  const app = client('Command line');
  const code = (await authorize(app, 'tom@platform.example')).get('code')!;
  const redirectUri = app.redirect_uris[0]!;
  const first = await token({
    grant_type: 'authorization_code',
    ...credentials(app.name),
    redirect_uri: redirectUri,
    code,
  });
  const second = await token({
    grant_type: 'refresh_token',
    ...credentials(app.name),
    refresh_token: first.body.refresh_token,
    scope: '',
  });
  t.is(second.status, 200);
  t.not(second.body.access_token, first.body.access_token);
  t.is((await api('identity', second.body.access_token)).body.data.name, 'Tom Bauer');
  t.is((await api('schools', second.body.access_token)).body.message, 'Missing permission to view schools.');
});

test('the public app redeems its code with PKCE and without a secret', async (t) => {
  const app = client('Browser app');
  const verifier = 'a-code-verifier-has-at-least-43-characters-in-it';
  const challenge = createHash('sha256').update(verifier).digest('base64url');
  const callback = await authorize(app, 'ada@platform.example', {
    code_challenge: challenge,
    code_challenge_method: 'S256',
  });
  const answer = await token({
    grant_type: 'authorization_code',
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0]!,
    code: callback.get('code')!,
    code_verifier: verifier,
  });
  t.is(answer.status, 200);
  t.deepEqual((await api('identity', answer.body.access_token)).body.data.permissions, [
    'close_schools',
    'edit_schools',
    'manage_all_apps',
    'manage_apps',
    'view_schools',
  ]);
});

test('a wrong password and an unknown login get the same response', async (t) => {
  const app = client('Command line');
  for (const login of ['ruth@platform.example', 'unknown@platform.example']) {
    const browser = new Browser();
    const page = await browser.open(authorizeUrl(app));
    const refused = await browser.submit(page, 'Sign in', { login, password: 'not the password' });
    t.is(refused.status, 422);
    t.regex(refused.text, /Email or password is incorrect\./);
  }
});

test('the start page, the health endpoints and the 404 page', async (t) => {
  const browser = new Browser();
  t.is((await browser.get(`${announced.base_url}/`)).heading, 'A small school platform');
  t.is((await browser.get(`${announced.base_url}/nowhere`)).heading, 'Page not found');
  const code = await browser.get(`${announced.base_url}/code?code=%3Cb%3E`);
  t.true(code.html.includes('&lt;b&gt;'));
  for (const path of ['/livez', '/readyz']) {
    t.deepEqual(await (await fetch(announced.base_url + path)).json(), { status: 'pass' });
  }
  const missing = await fetch(`${announced.base_url}/api/v2/schools`);
  t.is(missing.status, 404);
  t.is(missing.headers.get('content-type'), 'application/problem+json');
});

function client(name: string): AnnouncedClient {
  return announced.clients.find((one) => one.name === name)!;
}

function credentials(name: string): { client_id: string; client_secret: string } {
  const { client_id: id, client_secret: secret } = client(name);
  return { client_id: id, client_secret: secret };
}

async function token(body: Record<string, string>) {
  const response = await fetch(`${announced.base_url}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

async function api(resource: string, accessToken: string) {
  const headers = { authorization: `Bearer ${accessToken}` };
  const response = await fetch(`${announced.base_url}/api/v1/${resource}`, { headers });
  return { status: response.status, body: JSON.parse(await response.text()) };
}

function authorizeUrl(app: AnnouncedClient, parameters: Record<string, string> = {}): URL {
  const url = new URL('/oauth/authorize', announced.base_url);
  url.search = new URLSearchParams({
    client_id: app.client_id,
    redirect_uri: app.redirect_uris[0]!,
    response_type: 'code',
    scope: '',
    ...parameters,
  }).toString();
  return url;
}

/** Signs a user in and authorizes the app; returns the query of the redirect URI. */
async function authorize(
  app: AnnouncedClient,
  login: string,
  parameters: Record<string, string> = {},
): Promise<URLSearchParams> {
  const browser = new Browser();
  const { password } = announced.users.find((user) => user.login === login)!;
  let page: Page = await browser.open(authorizeUrl(app, parameters));
  page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
  // The consent page is shown once per user and app; another test may have been first.
  if (page.heading.startsWith('Authorize'))
    page = await browser.follow(await browser.submit(page, 'Authorize'));
  return page.url.searchParams;
}

test('the metrics are served on this machine only', async (t) => {
  const { status, text } = await send(`${announced.base_url}/metrics`);
  t.is(status, 200);
  t.regex(text, /^gatehouse_requests_in_progress \d+$/m);
  t.true((await send(announced.base_url)).text.includes('href="/metrics"'));
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
  const app = announced.clients.find(({ name }) => name === 'Command line')!;
  const url = new URL('/oauth/authorize', announced.base_url);
  url.search = String(
    new URLSearchParams({
      client_id: app.client_id,
      redirect_uri: app.redirect_uris[0]!,
      response_type: 'code',
      scope: 'schools:read',
      ui_locales: 'de',
    }),
  );
  const browser = new Browser();
  const { login, password } = announced.users[0]!;
  const page = await browser.follow(
    await browser.submit(await browser.open(url), 'Anmelden', { login, password }),
  );
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
