import type { ExecutionContext } from 'ava';
import test from '../harness/test.ts';
import Koa from 'koa';
import { createApiRouter, createAuthServer } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { Browser } from '../harness/browser.ts';
import {
  authorizeUrl,
  gate,
  people,
  platformOf,
  recordingLogger,
  runCodeFlow,
  signIn,
} from '../harness/platform.ts';
import type { RunningServer } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { endWith, listenerOf, serve } from '../harness/serve.ts';
import { asClient, clientToken, exchangeRefreshToken } from '../harness/tokens.ts';
import { runGrants } from './flows.ts';

/** Two authorization servers in one app, with different issuer paths, until the test ends. */
async function startTwo(
  t: ExecutionContext,
  paths: readonly [string, string],
  storages: readonly [Storage, Storage] = [memoryStorage(), memoryStorage()],
): Promise<readonly [RunningServer, RunningServer]> {
  const servers: RunningServer[] = [];
  const served = await serve(async (origin) => {
    const app = new Koa();
    app.silent = true;
    for (const [index, path] of paths.entries()) {
      const auth = await createAuthServer({
        issuer: origin + path,
        users: people(),
        storage: storages[index]!,
        interactions: pages({ brand: { name: `Brand ${index + 1}` } }),
        gate,
        logger: recordingLogger(),
      });
      const api = createApiRouter({ auth });
      api.get('/schools', auth.requires('view_schools'), (ctx) => {
        ctx.body = { data: [] };
      });
      app.use(auth.middleware()).use(api.routes());
      servers.push(platformOf(auth as never, { origin, path }));
    }
    return listenerOf(app);
  });
  endWith(t, served);
  return servers as unknown as readonly [RunningServer, RunningServer];
}

for (const paths of [
  ['/one', '/two'],
  ['/two', '/two-more'],
  ['', '/two'],
  ['/two', ''],
  ['/two', '/two/inner'],
  ['/two/inner', '/two'],
] as const) {
  test(`both serve all grants to one browser, with a login at each: "${paths.join('" and "')}"`, async (t) => {
    const [one, other] = await startTwo(t, paths);
    const browser = new Browser();
    const [app, foreign] = [await one.registerApp(), await other.registerApp()];
    await signIn(browser, await browser.open(authorizeUrl(one, app)));
    const page = await browser.open(authorizeUrl(other, foreign));
    t.is(page.heading, 'Sign in');
    t.regex(page.html, /Brand 2/);
    const second = await signIn(browser, page, 'bob@school.example', 'battery staple');
    t.regex(second.text, /bob@/);
    t.regex((await browser.open(authorizeUrl(one, app))).text, /ann@/);
    const own = new Browser();
    for (const server of [one, other]) await runGrants(t, server, { browser: own });
  });
}

const shared = memoryStorage();
for (const [name, storages] of [
  ['each with its own storage', undefined],
  ['with one storage', [shared, shared]],
] as const) {
  test(`tokens of one server are invalid at the other: ${name}`, async (t) => {
    const [one, other] = await startTwo(t, ['/one', '/two'], storages);
    const foreign = asClient(await other.registerService(['view_schools']));
    const { body: ofUser } = await runCodeFlow(one, await one.registerApp());
    const ofClient = await clientToken(one, await one.registerService(['view_schools']));
    for (const token of [ofUser.access_token, ofClient]) {
      t.is((await one.api('/schools', token)).status, 200);
      const refused = await other.api('/schools', token);
      const message =
        name === 'with one storage'
          ? `The access token was issued by ${one.auth.issuer}, and the issuer of this server is ${other.auth.issuer} now. Get another one.`
          : 'The access token has expired, or was not issued by this server for this API.';
      t.like(refused, { status: 401, body: { code: 'token_invalid', message } });
      t.is(
        refused.headers.get('www-authenticate'),
        `Bearer realm="${other.auth.issuer}", error="invalid_token", error_description="${message}"`,
      );
      const introspected = await postForm(other.url('/oauth/introspect'), { ...foreign, token });
      t.is(introspected.status, 200);
      t.deepEqual(introspected.body, { active: false });
      t.is((await postForm(other.url('/oauth/revoke'), { ...foreign, token })).status, 200);
      t.is((await one.api('/schools', token)).status, 200, 'the other server did not revoke it');
    }
  });
}

test('clients and refresh tokens of one server are unknown to the other, which has its own keys', async (t) => {
  const [one, other] = await startTwo(t, ['', '/two']);
  const app = await one.registerApp();
  const { body } = await runCodeFlow(one, app);
  t.like(await exchangeRefreshToken(other, app, body.refresh_token), {
    status: 401,
    body: { error: 'invalid_client' },
  });
  t.like(await exchangeRefreshToken(other, await other.registerApp(), body.refresh_token), {
    status: 400,
    body: { error: 'invalid_grant' },
  });
  const page = await new Browser().open(authorizeUrl(other, app));
  t.is(page.status, 400);
  t.is(page.location, undefined);

  const metadata = '/.well-known/oauth-authorization-server';
  for (const [path, server] of [
    [metadata, one],
    [`${metadata}/two`, other],
    [`/two${metadata}`, other],
  ] as const)
    t.is((await send(one.origin + path)).body?.['issuer'], server.auth.issuer, path);
  const [keys, others] = [await send(one.url('/oauth/jwks')), await send(other.url('/oauth/jwks'))];
  t.not(keys.text, others.text);
});
