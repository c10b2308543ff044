import test from '../harness/test.ts';
import { decodeJwt } from 'jose';
import type { JWK } from 'jose';

import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { authorizeUrl, people, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { asClient, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { OPENID } from './options.ts';

const MCP = 'https://platform.example/mcp';

const OPTIONS = {
  openid: {
    ...OPENID,
    scopes: { groups: { description: 'See your groups', claims: ['groups'] } },
    claims: () => ({ groups: ['staff'], email_verified: 1, nickname: 'Annie', iss: 'https://evil.example' }),
  },
  resources: {
    [MCP]: { scopes: { 'tools:use': { description: 'Use tools', permissions: ['view_schools'] } } },
  },
} as const;

async function userinfo(
  platform: Platform,
  token: string,
  init: RequestInit = {},
): Promise<{ status: number; headers: Headers; body: Record<string, unknown> }> {
  const headers = { authorization: `Bearer ${token}` };
  const { body = {}, ...answer } = await send(platform.url('/oauth/userinfo'), { headers, ...init });
  return { ...answer, body };
}

async function tokensFor(
  platform: Platform,
  app: RegisteredApp,
  scope: string,
  more: Record<string, string> = {},
): Promise<TokenAnswer['body']> {
  return (await runCodeFlow(platform, app, { parameters: { scope, ...more } })).body;
}

async function keysOf(platform: Platform): Promise<JWK[]> {
  return (await send(platform.url('/oauth/jwks'))).body!['keys'] as JWK[];
}

test('openid gives who the user is, and nothing else, also to an app that may have all permissions', async (t) => {
  await using platform = await startPlatform(OPTIONS);
  const app = await platform.registerApp();
  const all = await tokensFor(platform, app, '');
  t.is((await platform.api('/schools', all.access_token)).status, 200);
  t.is(all.id_token, undefined);

  const tokens = await tokensFor(platform, app, 'openid email *');
  t.is(tokens.scope, 'openid email');
  t.is(decodeJwt(tokens.access_token).aud, String(platform.url('/oauth/userinfo')));
  for (const path of ['/schools', '/identity']) {
    const refused = await platform.api(path, tokens.access_token);
    t.is(refused.status, 401);
    t.like(refused.body, {
      code: 'token_invalid',
      message: `The access token is for the API ${platform.origin}/oauth/userinfo, and this is ${platform.origin}.`,
    });
  }
  const refreshed = await exchangeRefreshToken(platform, app, tokens.refresh_token, { scope: 'openid' });
  t.is(refreshed.body.scope, 'openid');
  t.is((await platform.api('/schools', refreshed.body.access_token)).status, 401);
  // Neither a wider one, nor without an ID token, which has to be asked for.
  for (const scope of ['openid schools:read', 'email']) {
    const refused = await exchangeRefreshToken(platform, app, refreshed.body.refresh_token, { scope });
    t.like(refused, { status: 400, body: { error: 'invalid_scope' } });
  }
  const fields = { token: tokens.access_token, ...asClient(app) };
  t.like((await postForm(platform.url('/oauth/introspect'), fields)).body, {
    active: true,
    scope: 'openid email',
    aud: String(platform.url('/oauth/userinfo')),
  });
});

test('an app that asks for both gets a token for the API that also reads userinfo', async (t) => {
  await using platform = await startPlatform(OPTIONS);
  const app = await platform.registerApp();
  const both = await tokensFor(platform, app, 'openid groups schools:read');
  const claims = decodeJwt(both.access_token);
  t.deepEqual(claims.aud, [platform.auth.issuer, String(platform.url('/oauth/userinfo'))]);
  for (const name of ['nonce', 'auth_time', 'sid', 'amr', 'email', 'groups', 'at_hash'])
    t.false(name in claims);
  t.is((await platform.api('/schools', both.access_token)).status, 200);
  t.deepEqual((await userinfo(platform, both.access_token)).body, { sub: '1', groups: ['staff'] });
  // No scope of openid permits anything there.
  like(t, (await platform.api('/identity', both.access_token)).body['data'], {
    id: '1',
    permissions: ['view_schools'],
    scopes: ['openid', 'groups', 'schools:read'],
  });
  // The scope of the API is taken away: what remains is not valid there.
  await platform.auth.clients.update(app.client.id, { scopes: ['openid', 'groups'] });
  const refreshed = await exchangeRefreshToken(platform, app, both.refresh_token);
  t.is(refreshed.body.scope, 'openid groups');
  t.is((await platform.api('/schools', refreshed.body.access_token)).status, 401);

  const mcp = await tokensFor(platform, await platform.registerApp(), 'openid tools:use', { resource: MCP });
  t.deepEqual(decodeJwt(mcp.access_token).aud, [MCP, String(platform.url('/oauth/userinfo'))]);
});

test('consent to openid is none to the API, and the reverse', async (t) => {
  await using platform = await startPlatform(OPTIONS);
  const app = await platform.registerApp();
  const browser = new Browser(platform.reach);
  const asked = async (scope: string): Promise<string | undefined> => {
    let page = await browser.open(authorizeUrl(platform, app, { scope }));
    if (page.heading === 'Sign in') page = await signIn(browser, page);
    if (page.location) return undefined;
    const items = /<ul>.*?<\/ul>/s
      .exec(page.html)?.[0]
      .replaceAll(/<[^>]+>/g, '')
      .trim()
      .split(/\s*\n\s*/);
    await browser.submit(page, 'Authorize');
    return items?.join('; ') ?? page.text;
  };
  t.is(await asked('openid email'), 'Sign you in, and recognize you the next time; See your email address');
  t.is(await asked('openid email'), undefined);
  t.is(await asked('openid schools:read'), 'See your schools');
  t.is(await asked('openid groups schools:read'), 'See your groups');
  t.is(await asked(''), 'View schools', 'all that the user may do');
  t.is(await asked('openid profile schools:read'), 'See your name, your picture and your language');
  t.is(await asked('openid profile email groups schools:read'), undefined);

  const other = await platform.registerApp();
  await browser.submit(await browser.open(authorizeUrl(platform, other)), 'Authorize');
  const page = await browser.open(authorizeUrl(platform, other, { scope: 'openid' }));
  t.is(page.heading, 'Authorize Reports');

  // The user sees both kinds, and ends both.
  const list = await browser.open(platform.url('/account/apps'));
  t.regex(list.text, /Sign you in, and recognize you the next time/);
});

test('scopes that an app may not have, or that do not belong together, are refused', async (t) => {
  await using platform = await startPlatform(OPTIONS);
  const limited = await platform.registerApp({ scopes: ['openid', 'schools:read'] });
  const refused = async (app: RegisteredApp, parameters: Record<string, string>): Promise<string> => {
    const browser = new Browser(platform.reach);
    await signIn(browser, await browser.open(platform.url('/oauth/login')));
    const { location } = await browser.open(authorizeUrl(platform, app, parameters));
    t.is(location?.searchParams.get('error'), 'invalid_scope');
    return location!.searchParams.get('error_description')!;
  };
  t.is(await refused(limited, { scope: 'openid email' }), 'requested scope is not allowed: email');
  const app = await platform.registerApp();
  t.is(await refused(app, { scope: 'email' }), 'the scope email needs the scope openid');
  t.is(
    await refused(app, { scope: 'openid', resource: MCP }),
    `name a scope of the resource ${MCP} too, or leave the parameter resource out`,
  );
  // Without scopes, an app with a list gets those of the API.
  const { body } = await runCodeFlow(platform, limited);
  t.is(body.scope, 'schools:read');

  const service = await platform.registerService(['view_schools']);
  t.like(await requestClientToken(platform, service, { scope: 'openid' }), {
    status: 400,
    body: { error: 'invalid_scope', error_description: 'requested scope is not allowed: openid' },
  });
});

test('email_verified is about the address that it comes with', async (t) => {
  const users = people();
  Object.assign(users.all[0]!, { email_verified: true });
  for (const [openid, expected] of [
    [{}, { sub: '1', email: 'ann@school.example', email_verified: true }],
    [{ claims: () => ({ email: 'new@school.example' }) }, { sub: '1', email: 'new@school.example' }],
  ] as const) {
    await using platform = await startPlatform({ users, openid: { ...OPENID, ...openid } });
    const { access_token: token } = await tokensFor(platform, await platform.registerApp(), 'openid email');
    t.deepEqual((await userinfo(platform, token)).body, expected);
  }
});

test('userinfo takes access tokens with openid in the header or in the body, while the app has the scope and the user is there', async (t) => {
  await using platform = await startPlatform({
    ...OPTIONS,
    openid: { ...OPTIONS.openid, algorithm: 'RS256' },
  });
  const app = await platform.registerApp();
  const tokens = await tokensFor(platform, app, 'openid email');
  // `email_verified` is no boolean, and the other claims belong to no granted scope.
  const expected = { sub: '1', email: 'ann@school.example' };
  const post = {
    method: 'POST',
    headers: {},
    body: new URLSearchParams({ access_token: tokens.access_token }),
  };
  for (const answer of [
    await userinfo(platform, tokens.access_token),
    await userinfo(platform, tokens.access_token, {
      method: 'POST',
      headers: { authorization: `bearer ${tokens.access_token}` },
    }),
    await userinfo(platform, '', post),
  ]) {
    t.is(answer.status, 200);
    t.deepEqual(answer.body, expected);
    t.is(answer.headers.get('access-control-allow-origin'), '*');
    t.regex(answer.headers.get('content-type')!, /^application\/json/);
    t.is(answer.headers.get('cache-control'), 'no-store');
  }
  const preflight = await userinfo(platform, '', { method: 'OPTIONS', headers: {} });
  t.is(preflight.status, 204);
  t.regex(preflight.headers.get('access-control-allow-headers')!, /authorization/i);

  await platform.auth.clients.update(app.client.id, { scopes: ['schools:read'] });
  const taken = await userinfo(platform, tokens.access_token);
  t.like(taken, { status: 403, body: { error: 'insufficient_scope' } });
  await platform.auth.clients.update(app.client.id, { scopes: ['openid', 'email'] });
  t.is((await userinfo(platform, tokens.access_token)).status, 200);
  platform.users.all.shift();
  t.is((await userinfo(platform, tokens.access_token)).status, 401);
});

test('off, nothing of it is there', async (t) => {
  await using platform = await startPlatform();
  const app = await platform.registerApp();
  for (const path of ['/.well-known/openid-configuration', '/oauth/userinfo'])
    t.is((await fetch(platform.url(path))).status, 404);
  t.like(await keysOf(platform), { length: 1, 0: { kty: 'EC' } });
  const browser = new Browser(platform.reach);
  await signIn(browser, await browser.open(platform.url('/oauth/login')));
  const { location } = await browser.open(authorizeUrl(platform, app, { scope: 'openid' }));
  t.is(location?.searchParams.get('error'), 'invalid_scope');
});
