import test from '../harness/test.ts';
import { decodeJwt } from 'jose';

import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { authorizeUrl, BOTH_SCOPES, runCodeFlow, signedIn, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage, scopes: BOTH_SCOPES }));
  return { platform };
});

/** A browser of a registrar, with the permissions to view and edit schools. */
async function asCleo(): Promise<Browser> {
  const { platform } = await started();
  return signedIn(platform, 'cleo@school.example', 'open sesame');
}

async function service(scopes: readonly string[] | undefined, at?: Platform): Promise<RegisteredApp> {
  const { platform } = await started();
  const permissions = ['view_schools', 'edit_schools'];
  return (at ?? platform).registerApp({
    grantType: 'client_credentials',
    redirectUris: [],
    permissions,
    scopes,
  });
}

interface Identity {
  readonly permissions: readonly string[];
  readonly scopes: readonly string[];
}

async function identity(token: string, at?: Platform): Promise<Identity> {
  const { platform } = await started();
  return (await (at ?? platform).api('/identity', token)).body['data'] as Identity;
}

const BOTH = ['edit_schools', 'view_schools'];

// The scopes of a client, the permissions and the scope of a token that was requested without, and what the consent page says.
const LISTS = [
  [undefined, BOTH, undefined, 'with the permissions that you have'],
  [['schools:read'], ['view_schools'], 'schools:read', 'It will be able to: See your schools'],
  [['schools:read', 'gone'], ['view_schools'], 'schools:read', 'It will be able to: See your schools'],
  [['gone'], [], undefined, 'It will learn who you are'],
  [[], [], undefined, 'It will learn who you are'],
] as [string[] | undefined, string[], string | undefined, string][];

test('without a scope parameter the scopes of the registration apply', async (t) => {
  const { platform } = await started();
  for (const [scopes, permissions, scope, shown] of LISTS) {
    const browser = await asCleo();
    const stored = scopes?.filter((name) => name !== 'gone');
    const app = await platform.registerApp({ scopes: stored });
    const machine = await service(stored);
    // The registry refuses a scope that was removed from the server since.
    for (const { client } of [app, machine]) await storage.clients.update({ ...client, scopes });
    const first = (await runCodeFlow(platform, app, { browser })).body;
    const next = (await exchangeRefreshToken(platform, app, first.refresh_token)).body;
    const own = (await requestClientToken(platform, machine)).body;
    for (const body of [first, next, own]) {
      t.deepEqual((await identity(body.access_token)).permissions, permissions);
      t.is(body.scope, scope);
      t.is(decodeJwt(body.access_token)['scope'], scope);
    }
    const page = await browser.open(authorizeUrl(platform, await platform.registerApp({ scopes: stored })));
    t.true(page.text.includes(shown), page.text);
  }
});

test('tokens that were issued with no scopes stay without when the client is registered for more', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  const app = await platform.registerApp({ scopes: [] });
  const machine = await service([]);
  const { body } = await runCodeFlow(platform, app, { browser });
  const own = (await requestClientToken(platform, machine)).body;
  for (const scopes of [undefined, ['schools:read']]) {
    for (const { client } of [app, machine]) await platform.auth.clients.update(client.id, { scopes });
    const next = (await exchangeRefreshToken(platform, app, body.refresh_token)).body;
    for (const token of [body.access_token, next.access_token, own.access_token]) {
      t.deepEqual((await identity(token)).permissions, []);
    }
    const introspected = await postForm(platform.url('/oauth/introspect').href, {
      ...asClient(app),
      token: body.access_token,
    });
    t.like(introspected.body, { active: true, limited: true });
    const page = await browser.open(authorizeUrl(platform, app));
    t.is(page.heading, 'Authorize Reports', 'consent is asked for the new scopes');
  }
});

test('when the client is registered for more while the consent page is open, consent is asked for again', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  // The consent to the second one is not stored, but proved in the redirect.
  for (const redirectUri of ['https://reports.example/callback', 'http://127.0.0.1:8080/callback']) {
    const app = await platform.registerApp({ scopes: [], redirectUris: [redirectUri] });
    const page = await browser.open(authorizeUrl(platform, app));
    t.true(page.text.includes('It will be able to do nothing else.'), page.text);
    await platform.auth.clients.update(app.client.id, { scopes: undefined });
    const end = await browser.follow(await browser.submit(page, 'Authorize'));
    t.is(end.heading, 'Authorize Reports');
    t.true(end.text.includes('with the permissions that you have'));
  }
});

test('removing scopes from a client narrows its existing tokens', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  const [unlimited, listed] = [
    await platform.registerApp(),
    await platform.registerApp({ scopes: ['schools:read', 'schools:write'] }),
  ];
  for (const app of [unlimited, listed]) {
    const { body } = await runCodeFlow(platform, app, { browser });
    t.deepEqual((await identity(body.access_token)).permissions, BOTH);
    await platform.auth.clients.update(app.client.id, { scopes: ['schools:read'] });
    const narrowed = { permissions: ['view_schools'], scopes: ['schools:read'] };
    like(t, await identity(body.access_token), narrowed);
    const next = (await exchangeRefreshToken(platform, app, body.refresh_token)).body;
    t.is(next.scope, 'schools:read');
    like(t, await identity(next.access_token), narrowed);
    const introspected = await postForm(platform.url('/oauth/introspect').href, {
      ...asClient(app),
      token: body.access_token,
    });
    t.like(introspected.body, { active: true, scope: 'schools:read' });

    await platform.auth.clients.update(app.client.id, { scopes: [] });
    for (const token of [body.access_token, next.access_token])
      t.deepEqual((await identity(token)).permissions, []);
    const last = await exchangeRefreshToken(platform, app, next.refresh_token);
    if (app === listed) t.like(last, { status: 400, body: { error: 'invalid_scope' } });
    else t.deepEqual((await identity(last.body.access_token)).permissions, []);
  }
});

test('the scope * is a request for all that the client may have, as apps of Laravel Passport send it', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  for (const [scopes, permissions, scope] of LISTS.slice(0, 2)) {
    const app = await platform.registerApp({ scopes });
    const machine = await service(scopes);
    const page = await browser.open(authorizeUrl(platform, app, { scope: '*' }));
    t.is(page.text, (await browser.open(authorizeUrl(platform, app))).text, 'what is asked for');
    const authorized = await runCodeFlow(platform, app, { browser, parameters: { scope: '*' } });
    for (const { body } of [authorized, await requestClientToken(platform, machine, { scope: '*' })]) {
      t.is(body.scope, scope);
      t.deepEqual((await identity(body.access_token)).permissions, permissions);
    }
  }
});

test('beside other scopes, * decides for client credentials, and is ignored for authorization codes', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  const parameters = { scope: '* schools:read' };
  const { body } = await runCodeFlow(platform, await platform.registerApp(), { browser, parameters });
  t.is(body.scope, 'schools:read');
  t.deepEqual((await identity(body.access_token)).permissions, ['view_schools']);

  const machine = await service(undefined);
  const own = await requestClientToken(platform, machine, { scope: 'schools:read *' });
  t.is(own.body.scope, undefined);
  t.deepEqual((await identity(own.body.access_token)).permissions, BOTH);
  const refused = await requestClientToken(platform, machine, { scope: '* unknown' });
  t.is(refused.status, 400);
  t.like(refused.body, { error: 'invalid_scope', scope: 'unknown' });
});

test('a server can define * itself', async (t) => {
  const all = { description: 'See your schools', permissions: ['view_schools'] };
  await using own = await startPlatform({ scopes: { ...BOTH_SCOPES, '*': all } } as object);
  const { body } = await requestClientToken(own, await service(undefined, own), { scope: '*' });
  t.is(body.scope, '*');
  t.deepEqual((await identity(body.access_token, own)).permissions, ['view_schools']);
});
