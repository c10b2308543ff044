import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import test from 'ava';
import { createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import { fakeClock, issueToken, testServer } from 'koa-gatehouse/testing';
import type { TestServer } from 'koa-gatehouse/testing';

import { Browser } from '../harness/browser.ts';
import { recordingLogger } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { ann, bob, createApp, gate, scopes } from './school-app.ts';

const REPORTS = {
  name: 'Reports',
  grantType: 'authorization_code',
  redirectUris: ['https://reports.example/callback'],
} as const;

async function start(): Promise<TestServer> {
  return testServer({ gate, scopes, logger: recordingLogger(), users: [ann, bob], app: createApp });
}

async function schools({ origin }: TestServer, token: string): Promise<number> {
  const headers = { authorization: `Bearer ${token}` };
  return (await send(`${origin}/api/v1/schools`, { headers })).status;
}

test('a user authorizes a client without a browser, and the client gets its tokens', async (t) => {
  await using server = await start();
  const reports = await server.auth.clients.create(REPORTS);
  const { callback, exchange } = await server.authorize(reports, ann, {
    scopes: ['schools:read'],
    state: 'xyz',
  });
  t.is(callback.origin + callback.pathname, 'https://reports.example/callback');
  t.is(callback.searchParams.get('state'), 'xyz');
  t.is(callback.searchParams.get('iss'), server.origin);

  const tokens = await exchange();
  t.like(tokens, { token_type: 'Bearer', scope: 'schools:read' });
  t.is(await schools(server, tokens.access_token), 200);
  const headers = { authorization: `Bearer ${tokens.access_token}` };
  const identity = await send(`${server.origin}/api/v1/identity`, { headers });
  t.like(identity.body, { data: { type: 'user', id: '1', client_id: reports.client.id } });
  await t.throwsAsync(exchange, { message: /^The client got no tokens: invalid_grant, / });
});

test('authorize() works for public clients, each redirect URI and several users', async (t) => {
  await using server = await start();
  const app = await server.auth.clients.create({
    name: 'App',
    grantType: 'authorization_code',
    redirectUris: ['https://app.example/one', 'com.example.app:/two'],
    native: true,
    confidential: false,
  });
  await server.authorize(app, ann);
  const { callback, exchange } = await server.authorize(app, bob, { redirectUri: 'com.example.app:/two' });
  t.regex(callback.href, /^com\.example\.app:\/two\?/);
  t.is(await schools(server, (await exchange()).access_token), 403);
});

test('the app can redeem the code with its verifier', async (t) => {
  await using server = await start();
  const { client, secret } = await server.auth.clients.create(REPORTS);
  const { code, codeVerifier } = await server.authorize({ client, secret }, ann);
  const answer = await postJson(`${server.origin}/oauth/token`, {
    grant_type: 'authorization_code',
    code,
    code_verifier: codeVerifier,
    redirect_uri: REPORTS.redirectUris[0],
    client_id: client.id,
    client_secret: secret!.value,
  });
  t.is(answer.status, 200, answer.text);
});

test('authorize() declines optional scopes', async (t) => {
  const optional = { description: 'See your name', permissions: [], optional: true };
  await using server = await testServer({ gate, scopes: { ...scopes, profile: optional }, users: [ann] });
  const reports = await server.auth.clients.create(REPORTS);
  const request = { scopes: ['schools:read', 'profile'] };
  await t.throwsAsync(server.authorize(reports, ann, { ...request, declinedScopes: ['schools:read'] }), {
    message: /answered 422: .*There is no check box for: schools:read/,
  });
  const { exchange } = await server.authorize(reports, ann, { ...request, declinedScopes: ['profile'] });
  t.is((await exchange()).scope, 'schools:read');
  const later = await server.authorize(reports, ann, request);
  t.is((await later.exchange()).scope, 'schools:read profile');
});

test('deny() returns the redirect with access_denied and the state', async (t) => {
  await using server = await start();
  const reports = await server.auth.clients.create(REPORTS);
  const callback = await server.deny(reports, ann, { state: 'xyz' });
  t.is(callback.searchParams.get('error'), 'access_denied');
  t.is(callback.searchParams.get('state'), 'xyz');
});

test('OAuth errors of the server are thrown', async (t) => {
  await using server = await start();
  const reports = await server.auth.clients.create(REPORTS);
  await t.throwsAsync(server.authorize(reports, ann, { scopes: ['schools:write'] }), {
    message: /^\/oauth\/authorize answered 400: .*invalid_scope/,
  });
  await t.throwsAsync(server.authorize(reports, ann, { redirectUri: 'https://evil.example/' }), {
    message: /^\/oauth\/authorize answered 400: .*invalid_redirect_uri/,
  });
  await t.throwsAsync(server.authorize(reports, { id: '9', name: 'Nobody' }), {
    code: 'ERR_CONFIG',
    message: 'user: users.find() does not find "9"',
  });
  const job = await server.auth.clients.create({ name: 'Job', grantType: 'client_credentials' });
  await t.throwsAsync(server.authorize(job, ann), { code: 'ERR_CONFIG', message: /no redirect URI/ });
});

test('a server below a path, with the issuer of a proxy in front', async (t) => {
  await using server = await testServer({
    gate,
    users: [ann],
    issuer: (origin) => `${origin.replace('127.0.0.1', 'localhost')}/auth`,
  });
  const reports = await server.auth.clients.create(REPORTS);
  const { callback, exchange } = await server.authorize(reports, ann);
  t.is(callback.searchParams.get('iss'), `${server.origin.replace('127.0.0.1', 'localhost')}/auth`);
  t.like(await exchange(), { token_type: 'Bearer' });
  await t.throwsAsync(testServer({ issuer: 'http://example.org' }), {
    code: 'ERR_CONFIG',
    message: /^issuer: /,
  });
});

test('without options, the test server issues tokens', async (t) => {
  await using server = await testServer();
  const { client, secret } = await server.auth.clients.create({
    name: 'Job',
    grantType: 'client_credentials',
  });
  const answer = await postJson(`${server.origin}/oauth/token`, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret!.value,
  });
  t.is(answer.status, 200);
});

test('with the bundled pages, users can sign in on the login page', async (t) => {
  await using server = await testServer({ gate, users: [ann], interactions: pages() });
  const { client } = await server.auth.clients.create(REPORTS);
  const browser = new Browser();
  const url = new URL('/oauth/authorize', server.origin);
  url.search = new URLSearchParams({
    client_id: client.id,
    response_type: 'code',
    redirect_uri: REPORTS.redirectUris[0],
  }).toString();
  const login = await browser.open(url);
  const consent = await browser.follow(
    await browser.submit(login, 'Sign in', { login: ann.email, password: 'any' }),
  );
  t.is(consent.heading, 'Authorize Reports');
});

test('a server stops listening when it is closed, and when its creation fails', async (t) => {
  const server = await start();
  await server.close();
  await t.throwsAsync(fetch(server.origin), { instanceOf: TypeError });
  await t.throwsAsync(testServer({ gate, tokens: { lifetimes: { accessToken: 'soon' as '1 hour' } } }), {
    code: 'ERR_CONFIG',
  });
});

test('a token issued without a login is a token of the server', async (t) => {
  await using server = await start();
  const token = await issueToken(server.auth, { user: ann, scopes: ['schools:read'] });
  t.is(await schools(server, token), 200);
  const [header, claims] = token
    .split('.')
    .slice(0, 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()) as Record<string, unknown>);
  t.is(header!['typ'], 'at+jwt');
  t.like(claims, {
    iss: server.origin,
    aud: server.origin,
    sub: '1',
    principal: 'user',
    scope: 'schools:read',
  });
  t.is(Number(claims!['exp']) - Number(claims!['iat']), 31_536_000);

  const { client } = await server.auth.clients.create({
    name: 'Job',
    grantType: 'client_credentials',
    permissions: ['view_schools'],
  });
  t.is(await schools(server, await issueToken(server.auth, { client })), 200);
});

for (const [title, target] of Object.entries({
  user: { user: ann.id },
  token: undefined,
})) {
  test(`revoking the ${title} revokes a token that was issued without a login`, async (t) => {
    await using server = await start();
    const token = await issueToken(server.auth, { user: ann });
    t.is(await schools(server, token), 200);
    await server.auth.revoke(target ?? { token });
    t.is(await schools(server, token), 401);
  });
}

test('a token is issued through a client of the test, unless that is disabled', async (t) => {
  await using server = await start();
  const { client } = await server.auth.clients.create(REPORTS);
  const token = await issueToken(server.auth, { user: ann, client });
  await server.auth.clients.disable(client.id);
  t.is(await schools(server, token), 401);
  await t.throwsAsync(issueToken(server.auth, { user: ann, client }), {
    code: 'ERR_CONFIG',
    message: /disabled/,
  });
  await t.throwsAsync(issueToken(server.auth, { user: ann, scopes: ['schools:write'] }), {
    message: 'issueToken({ scopes }): the server has no scope "schools:write"',
  });
  await t.throwsAsync(issueToken(server.auth, { user: ann, lifetime: 'soon' as '1 hour' }), {
    code: 'ERR_CONFIG',
  });
});

test.serial('the fake clock lets tokens and codes expire', async (t) => {
  await using server = await start();
  const token = await issueToken(server.auth, { user: ann, lifetime: '1 hour' });
  const reports = await server.auth.clients.create(REPORTS);
  const { exchange } = await server.authorize(reports, ann);
  const before = new Date();

  const clock = fakeClock();
  try {
    t.is(await schools(server, token), 200);
    clock.advance('61 seconds');
    await t.throwsAsync(exchange, { message: /invalid_grant/ });
    t.is(await schools(server, token), 200);
    clock.advance('1 hour');
    t.is(await schools(server, token), 401);
    t.true(before instanceof Date && new Date() instanceof Date);
    t.regex(Date(), /^\w{3} \w{3} \d\d \d{4} /);
    t.throws(fakeClock, { code: 'ERR_CONFIG' });
    t.throws(() => clock.advance('soon' as '1 hour'), { code: 'ERR_CONFIG' });

    clock.set(new Date('2030-01-01T00:00:00Z'));
    t.is(new Date().getUTCFullYear(), 2030);
    t.is(new Date(2029, 0).getFullYear(), 2029);
  } finally {
    clock.restore();
  }
  t.true(Date.now() - before.getTime() < 60_000);
  t.is(await schools(server, token), 200);

  using next = fakeClock();
  clock.restore();
  t.throws(fakeClock, { code: 'ERR_CONFIG' }, 'stopping a clock twice does not stop the next one');
  next.advance('1 hour');
  t.true(Date.now() - before.getTime() > 60_000);
});

test('the auth server of an app can be used', async (t) => {
  // An app that creates its server itself gets tokens in the same way.
  const listener = createServer();
  await new Promise<void>((resolve) => {
    listener.listen(0, '127.0.0.1', resolve);
  });
  t.teardown(() => listener.close());
  const issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`;
  const auth = await createAuthServer({
    issuer,
    storage: memoryStorage(),
    users: {
      authenticate: async () => undefined,
      find: async () => ann,
      permissions: async () => ['view_schools'],
    },
    interactions: pages(),
    gate,
  });
  t.teardown(async () => auth.close());
  const handle = createApp(auth).callback();
  listener.on('request', (request, response) => void handle(request, response));
  const token = await issueToken(auth, { user: ann });
  const answer = await send(`${issuer}/api/v1/schools`, { headers: { authorization: `Bearer ${token}` } });
  t.is(answer.status, 200);
});
