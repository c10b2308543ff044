import test from 'ava';
import { decodeJwt } from 'jose';

import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachDatabaseInSeries } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { platformOn } from './on-databases.ts';

/** A registrar, with the permissions to view and edit schools. */
const CLEO = { person: 'cleo@school.example', password: 'open sesame' };

async function asCleo(platform: Platform): Promise<Browser> {
  const browser = new Browser();
  const page = await browser.open(platform.url('/oauth/login'));
  await signIn(browser, page, CLEO.person, CLEO.password);
  return browser;
}

async function service(platform: Platform, scopes: readonly string[] | undefined): Promise<RegisteredApp> {
  const { client, secret } = await platform.auth.clients.create({
    name: 'Nightly',
    grantType: 'client_credentials',
    permissions: ['view_schools', 'edit_schools'],
    scopes,
  });
  return { client, secret: secret!.value, redirectUri: '' };
}

async function serviceToken(platform: Platform, app: RegisteredApp, scope?: string): Promise<TokenAnswer> {
  return requestClientToken(platform, app, scope === undefined ? {} : { scope });
}

async function identity(
  platform: Platform,
  token: string,
): Promise<{ permissions: string[]; scopes: string[] }> {
  const { body } = await platform.api('/identity', token);
  return body['data'] as { permissions: string[]; scopes: string[] };
}

/** The scopes of a client, and the permissions and the scope of a token that was requested without a scope. */
const LISTS = [
  { scopes: undefined, permissions: ['edit_schools', 'view_schools'], scope: undefined },
  { scopes: ['schools:read'], permissions: ['view_schools'], scope: 'schools:read' },
  { scopes: ['schools:read', 'gone'], permissions: ['view_schools'], scope: 'schools:read' },
  { scopes: ['gone'], permissions: [], scope: undefined },
  { scopes: [], permissions: [], scope: undefined },
] as const;

onEachDatabaseInSeries(
  'without a scope parameter the scopes of the registration apply',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    for (const { permissions, scope, scopes } of LISTS) {
      const browser = await asCleo(platform);
      const stored = scopes?.filter((name) => name !== 'gone');
      const app = await platform.registerApp({ scopes: stored });
      const machine = await service(platform, stored);
      if (scopes?.includes('gone' as never)) {
        const storage = knexStorage(address);
        for (const { client } of [app, machine]) await storage.clients.update({ ...client, scopes });
        await storage.close();
      }
      const message = JSON.stringify(scopes);

      const first = (await runCodeFlow(platform, app, { browser })).body;
      const next = (await exchangeRefreshToken(platform, app, first.refresh_token)).body;
      const own = (await serviceToken(platform, machine)).body;
      for (const body of [first, next, own]) {
        t.deepEqual((await identity(platform, body.access_token)).permissions, [...permissions], message);
        t.is(body.scope, scope, message);
        t.is(decodeJwt(body.access_token)['scope'], scope, message);
        t.is((await platform.api('/schools', body.access_token)).status, permissions.length > 0 ? 200 : 403);
      }
    }
  },
);

onEachDatabaseInSeries('the consent page shows the scopes of the registration', async (t, _, address) => {
  const platform = await platformOn(t, address);
  const browser = await asCleo(platform);
  const open = async (scopes: readonly string[] | undefined): Promise<string> => {
    const app = await platform.registerApp({ scopes });
    return (await browser.open(authorizeUrl(platform, app))).text;
  };
  t.true((await open(undefined)).includes('with the permissions that you have'));
  const listed = await open(['schools:read']);
  t.true(listed.includes('See your schools'), listed);
  t.false(listed.includes('Change your schools'));
  t.true((await open([])).includes('It will learn who you are'));
});

onEachDatabaseInSeries(
  'tokens that were issued with no scopes stay without when the client is registered for more',
  async (t, _, address) => {
    const platform = await platformOn(t, address, { tokens: { revocationLag: 1 } });
    const browser = await asCleo(platform);
    const app = await platform.registerApp({ scopes: [] });
    const machine = await service(platform, []);
    const { body } = await runCodeFlow(platform, app, { browser });
    const own = (await serviceToken(platform, machine)).body;
    for (const scopes of [undefined, ['schools:read']]) {
      for (const { client } of [app, machine]) await platform.auth.clients.update(client.id, { scopes });
      passTime(1.1);
      const next = (await exchangeRefreshToken(platform, app, body.refresh_token)).body;
      for (const token of [body.access_token, next.access_token, own.access_token]) {
        t.deepEqual((await identity(platform, token)).permissions, []);
      }
      const introspected = await postForm(platform.url('/oauth/introspect').href, {
        ...asClient(app),
        token: body.access_token,
      });
      t.like(introspected.body, { active: true, limited: true });
      const page = await browser.open(authorizeUrl(platform, app));
      t.is(page.heading, 'Authorize Reports', 'consent is asked for the new scopes');
    }
  },
);

onEachDatabaseInSeries(
  'when the client is registered for more while the consent page is open, consent is asked for again',
  async (t, _, address) => {
    const platform = await platformOn(t, address);
    const browser = await asCleo(platform);
    for (let time = 0; time < 5; time += 1) {
      const app = await platform.registerApp({ scopes: [] });
      const page = await browser.open(authorizeUrl(platform, app));
      t.true(page.text.includes('It will be able to do nothing else.'), page.text);
      await platform.auth.clients.update(app.client.id, { scopes: undefined });
      const end = await browser.follow(await browser.submit(page, 'Authorize'));
      t.is(end.location, undefined, end.location?.href);
      t.is(end.heading, 'Authorize Reports');
      t.true(end.text.includes('with the permissions that you have'));
    }
  },
);

onEachDatabaseInSeries('removing scopes from a client narrows its existing tokens', async (t, _, address) => {
  const platform = await platformOn(t, address, { tokens: { revocationLag: 1 } });
  const browser = await asCleo(platform);
  const [unlimited, listed] = [
    await platform.registerApp(),
    await platform.registerApp({ scopes: ['schools:read', 'schools:write'] }),
  ];
  for (const app of [unlimited, listed]) {
    const { body } = await runCodeFlow(platform, app, { browser });
    t.deepEqual((await identity(platform, body.access_token)).permissions, ['edit_schools', 'view_schools']);
    await platform.auth.clients.update(app.client.id, { scopes: ['schools:read'] });
    const narrowed = { permissions: ['view_schools'], scopes: ['schools:read'] };
    t.like(await identity(platform, body.access_token), narrowed);
    const next = (await exchangeRefreshToken(platform, app, body.refresh_token)).body;
    t.is(next.scope, 'schools:read');
    t.like(await identity(platform, next.access_token), narrowed);
    const introspected = await postForm(platform.url('/oauth/introspect').href, {
      ...asClient(app),
      token: body.access_token,
    });
    t.like(introspected.body, { active: true, scope: 'schools:read' });

    await platform.auth.clients.update(app.client.id, { scopes: [] });
    t.deepEqual((await identity(platform, body.access_token)).permissions, []);
    t.deepEqual((await identity(platform, next.access_token)).permissions, []);
    const last = await exchangeRefreshToken(platform, app, next.refresh_token);
    if (last.status === 200) t.deepEqual((await identity(platform, last.body.access_token)).permissions, []);
    else t.is(last.body.error, 'invalid_scope');
  }
});

const SCOPES = {
  'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
  'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
} as const;

test('the scope * is a request for all that the client may have, as apps of Laravel Passport send it', async (t) => {
  await using platform = await startPlatform({ scopes: SCOPES });
  const browser = await asCleo(platform);
  for (const { permissions, scope, scopes } of LISTS.slice(0, 2)) {
    const app = await platform.registerApp({ scopes });
    const machine = await service(platform, scopes);
    const page = await browser.open(authorizeUrl(platform, app, { scope: '*' }));
    t.is(page.text, (await browser.open(authorizeUrl(platform, app))).text, 'what is asked for');
    const authorized = await runCodeFlow(platform, app, { browser, parameters: { scope: '*' } });
    for (const { body } of [authorized, await serviceToken(platform, machine, '*')]) {
      t.is(body.scope, scope);
      t.deepEqual((await identity(platform, body.access_token)).permissions, [...permissions]);
    }
  }
});

test('beside other scopes, * decides for client credentials, and is ignored for authorization codes', async (t) => {
  await using platform = await startPlatform({ scopes: SCOPES });
  const browser = await asCleo(platform);
  const parameters = { scope: '* schools:read' };
  const { body } = await runCodeFlow(platform, await platform.registerApp(), { browser, parameters });
  t.is(body.scope, 'schools:read');
  t.deepEqual((await identity(platform, body.access_token)).permissions, ['view_schools']);

  const machine = await service(platform, undefined);
  const own = await serviceToken(platform, machine, 'schools:read *');
  t.is(own.body.scope, undefined);
  t.deepEqual((await identity(platform, own.body.access_token)).permissions, [
    'edit_schools',
    'view_schools',
  ]);
  const refused = await serviceToken(platform, machine, '* unknown');
  t.is(refused.status, 400);
  t.like(refused.body, { error: 'invalid_scope', scope: 'unknown' });
});

test('a server can define * itself', async (t) => {
  const all = { description: 'See your schools', permissions: ['view_schools'] };
  await using platform = await startPlatform({ scopes: { ...SCOPES, '*': all } } as object);
  const { body } = await serviceToken(platform, await service(platform, undefined), '*');
  t.is(body.scope, '*');
  t.deepEqual((await identity(platform, body.access_token)).permissions, ['view_schools']);
});
