import test from 'ava';
import Koa from 'koa';
import { createApiRouter, createAuthServer } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import {
  authorizeUrl,
  runCodeFlow,
  gate,
  listenerOf,
  people,
  platformOf,
  signIn,
} from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { serve } from '../harness/serve.ts';
import { asClient } from '../harness/tokens.ts';
import { FORMATS, runGrants } from './flows.ts';

type Server = Omit<Platform, 'users' | 'logger' | typeof Symbol.asyncDispose>;

/** Two authorization servers in one app, with different issuer paths. */
async function startTwo(
  paths: readonly [string, string],
  storages: readonly [Storage, Storage] = [memoryStorage(), memoryStorage()],
): Promise<{ servers: readonly [Server, Server]; [Symbol.asyncDispose](): Promise<void> }> {
  const servers: Server[] = [];
  const served = await serve(async (origin) => {
    const app = new Koa();
    app.silent = true;
    for (const [index, path] of paths.entries()) {
      await storages[index]!.migrate();
      const auth = await createAuthServer({
        issuer: origin + path,
        users: people(),
        storage: storages[index]!,
        interactions: pages({ brand: { name: `Brand ${index + 1}` } }),
        gate,
        logger: { debug() {}, info() {}, warn() {}, error() {} },
      });
      const api = createApiRouter({ auth });
      api.get('/schools', auth.requires('view_schools'), (ctx) => {
        ctx.body = { data: [] };
      });
      app.use(auth.middleware()).use(api.routes());
      servers.push(platformOf(auth, { origin, path }));
    }
    return listenerOf(app);
  });
  return {
    servers: servers as unknown as readonly [Server, Server],
    [Symbol.asyncDispose]: async () => served[Symbol.asyncDispose](),
  };
}

const pairs: [string, string][] = [
  ['/one', '/two'],
  ['/two', '/two-more'],
  ['', '/two'],
  ['/two', ''],
  ['/two', '/two/inner'],
  ['/two/inner', '/two'],
];

for (const paths of pairs) {
  test(`both serve all grants, to one browser: "${paths.join('" and "')}"`, async (t) => {
    await using two = await startTwo(paths);
    const browser = new Browser();
    for (const format of FORMATS) {
      for (const server of two.servers) await runGrants(t, server, { format, browser });
    }
  });

  test(`a login at one server is none at the other: "${paths.join('" and "')}"`, async (t) => {
    await using two = await startTwo(paths);
    const [one, other] = two.servers;
    const browser = new Browser();
    const [app, foreign] = [await one.registerApp(), await other.registerApp()];
    await signIn(browser, await browser.open(authorizeUrl(one as Platform, app)));
    const page = await browser.open(authorizeUrl(other as Platform, foreign));
    t.is(page.heading, 'Sign in');
    t.regex(page.html, /Brand 2/);
    const second = await signIn(browser, page, 'bob@school.example', 'battery staple');
    t.regex(second.text, /bob@/);
    t.regex((await browser.open(authorizeUrl(one as Platform, app))).text, /ann@/);
  });
}

for (const [name, storages] of Object.entries({
  'each with its own storage': undefined,
  'with one storage': ((storage) => [storage, storage] as const)(memoryStorage()),
})) {
  test(`tokens of one server are invalid at the other: ${name}`, async (t) => {
    await using two = await startTwo(['/one', '/two'], storages);
    const [one, other] = two.servers;
    const [app, service] = [await one.registerApp(), await one.registerService(['view_schools'])];
    const foreignService = await other.registerService(['view_schools']);
    const ofUser = await runCodeFlow(one as Platform, app);
    const ofClient = await one.token({ grant_type: 'client_credentials', ...asClient(service) });

    for (const token of [ofUser.body.access_token, ofClient.body.access_token]) {
      t.is((await one.api('/schools', token)).status, 200);
      const refused = await other.api('/schools', token);
      t.is(refused.status, 401);
      t.is(refused.body['code'], 'token_invalid');
      t.is(
        refused.body['message'],
        'The access token has expired, or was not issued by this server for this API.',
      );
      t.is(
        refused.headers.get('www-authenticate'),
        `Bearer realm="${other.auth.issuer}", error="invalid_token", error_description="${String(refused.body['message'])}"`,
      );
      const body = new URLSearchParams({ ...asClient(foreignService), token });
      const introspected = await send(other.url('/oauth/introspect'), { method: 'POST', body });
      t.is(introspected.status, 200);
      t.deepEqual(introspected.body, { active: false });
      const revoked = await send(other.url('/oauth/revoke'), { method: 'POST', body });
      t.is(revoked.status, 200);
      t.is((await one.api('/schools', token)).status, 200, 'the other server did not revoke it');
    }
  });
}

test('clients and refresh tokens of one server are unknown to the other', async (t) => {
  await using two = await startTwo(['/one', '/two']);
  const [one, other] = two.servers;
  const app = await one.registerApp();
  const issued = await runCodeFlow(one as Platform, app);
  const otherClient = await other.token({
    grant_type: 'refresh_token',
    ...asClient(app),
    refresh_token: issued.body.refresh_token,
  });
  t.is(otherClient.status, 401);
  t.is(otherClient.body.error, 'invalid_client');
  const foreign = await other.registerApp();
  const stolen = await other.token({
    grant_type: 'refresh_token',
    ...asClient(foreign),
    refresh_token: issued.body.refresh_token,
  });
  t.is(stolen.status, 400);
  t.is(stolen.body.error, 'invalid_grant');
  const page = await new Browser().open(authorizeUrl(other as Platform, app));
  t.is(page.status, 400);
  t.is(page.location, undefined);
});

test('each server has its own metadata and keys', async (t) => {
  await using two = await startTwo(['', '/two']);
  const [root, below] = two.servers;
  const documents = {
    [`${root.origin}/.well-known/oauth-authorization-server`]: root,
    [`${root.origin}/.well-known/oauth-authorization-server/two`]: below,
    [`${root.origin}/two/.well-known/oauth-authorization-server`]: below,
  };
  for (const [url, server] of Object.entries(documents)) {
    t.is((await send(url)).body?.['issuer'], server.auth.issuer, url);
  }
  const [one, other] = await Promise.all(
    two.servers.map(async (server) => (await send(server.url('/oauth/jwks'))).text),
  );
  t.not(one, other);
});
