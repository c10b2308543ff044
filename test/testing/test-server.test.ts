import test from '../harness/test.ts';
import { createAuthServer } from 'koa-gatehouse';
import type { AuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';
import { fakeClock, issueToken, testServer } from 'koa-gatehouse/testing';
import type { TestServer } from 'koa-gatehouse/testing';

import { Browser } from '../harness/browser.ts';
import { recordingLogger, signIn } from '../harness/platform.ts';
import { postJson, send } from '../harness/requests.ts';
import { listenerOf, serve } from '../harness/serve.ts';
import { shared } from '../harness/shared.ts';
import { ann, bob, createApp, gate, REPORTS, scopes } from './school-app.ts';

async function start(): Promise<TestServer> {
  return testServer({ gate, scopes, logger: recordingLogger(), users: [ann, bob], app: createApp });
}

const started = shared(async (stack) => {
  const school = await start();
  const { auth } = school;
  const reports = await auth.clients.create(REPORTS);
  stack.defer(async () => school.close());
  return { school, auth, reports };
});

async function schools(token: string, at?: { origin: string }): Promise<number> {
  const { school } = await started();
  const headers = { authorization: `Bearer ${token}` };
  return (await send(`${(at ?? school).origin}/api/v1/schools`, { headers })).status;
}

test('a user authorizes a client without a browser, and the client gets its tokens', async (t) => {
  const { school, reports } = await started();
  const request = { scopes: ['schools:read'], state: 'xyz' };
  const { callback, exchange } = await school.authorize(reports, ann, request);
  t.is(callback.origin + callback.pathname, REPORTS.redirectUris[0]);
  t.is(callback.searchParams.get('state'), 'xyz');
  t.is(callback.searchParams.get('iss'), school.origin);
  const tokens = await exchange();
  t.like(tokens, { token_type: 'Bearer', scope: 'schools:read' });
  t.is(await schools(tokens.access_token), 200);
  await t.throwsAsync(exchange, { message: /^The client got no tokens: invalid_grant, / });
});

test('authorize() works for public clients, each redirect URI and several users', async (t) => {
  const { auth, school } = await started();
  const app = await auth.clients.create({
    name: 'App',
    grantType: 'authorization_code',
    redirectUris: ['https://app.example/one', 'com.example.app:/two'],
    native: true,
    confidential: false,
  });
  await school.authorize(app, ann);
  const { callback, exchange } = await school.authorize(app, bob, { redirectUri: 'com.example.app:/two' });
  t.regex(callback.href, /^com\.example\.app:\/two\?/);
  t.is(await schools((await exchange()).access_token), 403);
});

test('the app can redeem the code with its verifier', async (t) => {
  const { reports, school } = await started();
  const { client, secret } = reports;
  const { code, codeVerifier } = await school.authorize(reports, ann);
  const answer = await postJson(`${school.origin}/oauth/token`, {
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
  const app = await server.auth.clients.create(REPORTS);
  const request = { scopes: ['schools:read', 'profile'] };
  await t.throwsAsync(server.authorize(app, ann, { ...request, declinedScopes: ['schools:read'] }), {
    message: /answered 422: .*There is no check box for: schools:read/,
  });
  for (const [declinedScopes, scope] of [
    [['profile'], 'schools:read'],
    [[], 'schools:read profile'],
  ] as const) {
    const { exchange } = await server.authorize(app, ann, { ...request, declinedScopes });
    t.is((await exchange()).scope, scope);
  }
});

test('deny() returns the redirect with access_denied and the state', async (t) => {
  const { school, auth } = await started();
  const callback = await school.deny(await auth.clients.create(REPORTS), ann, { state: 'xyz' });
  t.is(callback.searchParams.get('error'), 'access_denied');
  t.is(callback.searchParams.get('state'), 'xyz');
});

test('OAuth errors of the server are thrown', async (t) => {
  const { school, reports, auth } = await started();
  await t.throwsAsync(school.authorize(reports, ann, { scopes: ['schools:write'] }), {
    message: /^\/oauth\/authorize answered 400: .*invalid_scope/,
  });
  await t.throwsAsync(school.authorize(reports, ann, { redirectUri: 'https://evil.example/' }), {
    message: /^\/oauth\/authorize answered 400: .*invalid_redirect_uri/,
  });
  await t.throwsAsync(school.authorize(reports, { id: '9', name: 'Nobody' }), {
    code: 'ERR_CONFIG',
    message: 'user: users.find() does not find "9"',
  });
  const job = await auth.clients.create({ name: 'Job', grantType: 'client_credentials' });
  await t.throwsAsync(school.authorize(job, ann), { code: 'ERR_CONFIG', message: /no redirect URI/ });
});

function issuerOf(origin: string): string {
  return `${origin.replace('127.0.0.1', 'localhost')}/auth`;
}

test('a server below a path, with the issuer of a proxy in front, and with the bundled pages', async (t) => {
  await using server = await testServer({ gate, users: [ann], issuer: issuerOf });
  const app = await server.auth.clients.create(REPORTS);
  const { callback, exchange } = await server.authorize(app, ann);
  t.is(callback.searchParams.get('iss'), issuerOf(server.origin));
  t.like(await exchange(), { token_type: 'Bearer' });
  await t.throwsAsync(testServer({ issuer: 'http://example.org' }), {
    code: 'ERR_CONFIG',
    message: /^issuer: /,
  });

  await using own = await testServer({ users: [ann], interactions: pages() });
  const browser = new Browser();
  const page = await signIn(browser, await browser.open(`${own.origin}/oauth/login`), ann.email, 'any');
  t.is(page.heading, 'Connected apps');
});

test('without options, the test server issues tokens; it stops listening when it is closed', async (t) => {
  const server = await testServer();
  const job = { name: 'Job', grantType: 'client_credentials' } as const;
  const { client, secret } = await server.auth.clients.create(job);
  const answer = await postJson(`${server.origin}/oauth/token`, {
    grant_type: 'client_credentials',
    client_id: client.id,
    client_secret: secret!.value,
  });
  t.is(answer.status, 200);
  await server.close();
  await t.throwsAsync(fetch(server.origin), { instanceOf: TypeError });
  await t.throwsAsync(testServer({ gate, tokens: { lifetimes: { accessToken: 'soon' as '1 hour' } } }), {
    code: 'ERR_CONFIG',
  });
});

test('a token issued without a login is a token of the server, and can be revoked', async (t) => {
  const { auth, school } = await started();
  const token = await issueToken(auth, { user: ann, scopes: ['schools:read'] });
  t.is(await schools(token), 200);
  const [header, claims] = token
    .split('.', 2)
    .map((part) => JSON.parse(Buffer.from(part, 'base64url').toString()));
  t.is(header.typ, 'at+jwt');
  const { origin } = school;
  t.like(claims, { iss: origin, aud: origin, sub: '1', principal: 'user', scope: 'schools:read' });
  t.is(claims.exp - claims.iat, 31_536_000);
  await auth.revoke({ token });
  t.is(await schools(token), 401);

  const job = { name: 'Job', grantType: 'client_credentials', permissions: ['view_schools'] } as const;
  const { client } = await auth.clients.create(job);
  t.is(await schools(await issueToken(auth, { client })), 200);
});

test('a token is issued through a client of the test, unless that is disabled', async (t) => {
  const { auth } = await started();
  const { client } = await auth.clients.create(REPORTS);
  const token = await issueToken(auth, { user: ann, client });
  await auth.clients.disable(client.id);
  t.is(await schools(token), 401);
  for (const [given, message] of [
    [{ client }, /disabled/],
    [{ scopes: ['schools:write'] }, 'issueToken({ scopes }): the server has no scope "schools:write"'],
    [{ lifetime: 'soon' as '1 hour' }, /lifetime/],
  ] as const)
    await t.throwsAsync(issueToken(auth, { user: ann, ...given }), { code: 'ERR_CONFIG', message });
});

test.serial('the fake clock lets tokens and codes expire', async (t) => {
  const { auth, school, reports } = await started();
  const token = await issueToken(auth, { user: ann, lifetime: '1 hour' });
  const { exchange } = await school.authorize(reports, ann);
  const before = new Date();

  const clock = fakeClock();
  try {
    t.is(await schools(token), 200);
    clock.advance('61 seconds');
    await t.throwsAsync(exchange, { message: /invalid_grant/ });
    t.is(await schools(token), 200);
    clock.advance('1 hour');
    t.is(await schools(token), 401);
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
  t.is(await schools(token), 200);

  using next = fakeClock();
  clock.restore();
  t.throws(fakeClock, { code: 'ERR_CONFIG' }, 'stopping a clock twice does not stop the next one');
  next.advance('1 hour');
  t.true(Date.now() - before.getTime() > 60_000);
});

test('an app that creates its server itself gets tokens in the same way', async (t) => {
  let own!: AuthServer<typeof gate>;
  await using served = await serve(async (issuer) => {
    const created = await createAuthServer({
      issuer,
      storage: memoryStorage(),
      users: {
        verifyPassword: async () => undefined,
        find: async () => ann,
        permissions: async () => ['view_schools'],
      },
      gate,
    });
    own = created;
    return listenerOf(createApp(created));
  });
  t.teardown(async () => own.close());
  t.is(await schools(await issueToken(own, { user: ann }), served), 200);
});
