import test from 'ava';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import type { Context, Next } from 'koa';
import type { Client, Principal } from 'koa-gatehouse';
import { actingAsClient, actingAsUser, issueToken, testServer } from 'koa-gatehouse/testing';
import type { TestServer } from 'koa-gatehouse/testing';

import { rememberingLogger } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { ann, bob, createApp, gate, scopes } from './school-app.ts';
import type { School } from './school-app.ts';

async function start(
  t: ExecutionContext,
): Promise<TestServer & { get: (path: string, token?: string) => Promise<Answer> }> {
  const server = await testServer({ gate, scopes, users: [ann, bob], app: createApp });
  t.teardown(server.close);
  return {
    ...server,
    get: async (path, token) =>
      send(
        server.origin + path,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      ),
  };
}

test('an app that acts as a user needs no token', async (t) => {
  const { app, get } = await start(t);
  t.is((await get('/api/v1/schools')).status, 401);

  const acting = actingAsUser(app, ann, { permissions: ['view_schools'] });
  t.is((await get('/api/v1/schools')).status, 200);
  const settings = await get('/api/v1/schools/hill/settings');
  t.like(settings, { status: 403, body: { permission: 'edit_school' } });

  acting.stop();
  t.is((await get('/api/v1/schools')).status, 401);
});

function withoutClient({ body }: Answer): object {
  return { ...(body?.['data'] as object), client_id: '' };
}

test('the identity is that of a token with the same permissions', async (t) => {
  const { app, auth, get } = await start(t);
  const token = await issueToken(auth, { user: ann, scopes: ['schools:read'] });
  const byToken = await get('/api/v1/identity', token);
  using _acting = actingAsUser(app, ann, { scopes: ['schools:read'] });
  const acting = await get('/api/v1/identity');
  t.like(acting, {
    status: 200,
    body: { data: { type: 'user', id: '1', name: 'Ann', permissions: ['view_schools'] } },
  });
  t.deepEqual(withoutClient(acting), withoutClient(byToken));
});

test('without permissions and roles, a user holds what the user store says', async (t) => {
  const { app, get } = await start(t);
  using _first = actingAsUser(app, ann);
  t.deepEqual((await get('/api/v1/schools/hill/settings')).body, { data: { id: 'hill', editor: 'Ann' } });
  t.is((await get('/api/v1/schools/harbour/settings')).status, 403);
  // The last one acts.
  using _second = actingAsUser(app, bob);
  t.is((await get('/api/v1/schools')).status, 403);
});

test('a user need not be in the user store when the test says what they hold', async (t) => {
  const { app, get } = await start(t);
  using _acting = actingAsUser(app, { id: '2', name: 'Somebody' }, { roles: ['registrar'] });
  t.deepEqual((await get('/api/v1/schools/harbour/settings')).body, {
    data: { id: 'harbour', editor: 'Somebody' },
  });
});

test('an app that acts as a client', async (t) => {
  const { app, auth, get } = await start(t);
  using _acting = actingAsClient(app, { name: 'Nightly report' }, { permissions: ['view_schools'] });
  t.is((await get('/api/v1/schools')).status, 200);
  const identity = await get('/api/v1/identity');
  t.like(identity.body, { data: { type: 'client', name: 'Nightly report', permissions: ['view_schools'] } });

  const { client } = await auth.clients.create({
    name: 'Sync',
    grantType: 'client_credentials',
    roles: ['registrar'],
  });
  using _registered = actingAsClient(app, client);
  t.like((await get('/api/v1/identity')).body, {
    data: { type: 'client', client_id: client.id, roles: ['registrar'] },
  });
});

test('a client that a person owns may do what both of them may, as with a token', async (t) => {
  const { app, auth, get } = await start(t);
  const registerFor = async (ownerId: string): Promise<Client> => {
    const { client } = await auth.clients.create({
      name: 'Sync',
      grantType: 'client_credentials',
      permissions: ['view_schools'],
      ownerId,
    });
    return client;
  };
  const [ofAnn, ofBob, ofNobody] = await Promise.all([ann.id, bob.id, 'gone'].map(registerFor));
  for (const [client, status] of [
    [ofAnn, 200],
    [ofBob, 403],
    [ofNobody, 403],
  ] as const) {
    const token = await issueToken(auth, { client: client! });
    t.is((await get('/api/v1/schools', token)).status, status);
    using _registered = actingAsClient(app, client);
    t.is((await get('/api/v1/schools')).status, status);
    using _given = actingAsClient(app, { ownerId: client!.ownerId }, { permissions: ['view_schools'] });
    t.is((await get('/api/v1/schools')).status, status);
  }
});

test('a request with a token of its own keeps it, a bad one too', async (t) => {
  const { app, auth, get } = await start(t);
  using _acting = actingAsUser(app, ann);
  const token = await issueToken(auth, { user: bob });
  t.like((await get('/api/v1/identity', token)).body, { data: { id: '2' } });
  t.is((await get('/api/v1/identity', 'nonsense')).status, 401);
  t.is((await get(`/api/v1/identity?access_token=${token}`)).status, 401);
});

test('a misspelt permission, role or scope fails the request, and the log says which', async (t) => {
  const logger = rememberingLogger();
  await using server = await testServer({ gate, logger, users: [ann], app: createApp });
  for (const options of [
    { permissions: ['view_school'] },
    { roles: ['registrars'] },
    { scopes: ['schools'] },
  ]) {
    using _acting = actingAsUser(server.app, ann, options);
    t.is((await send(`${server.origin}/api/v1/schools`)).status, 500);
  }
  t.deepEqual(
    logger.lines.map(({ fields }) =>
      'err' in fields && fields.err instanceof Error ? fields.err.message : '',
    ),
    [
      'permissions: there is no permission "view_school"; correct it in the test',
      'roles: there is no role "registrars"; correct it in the test',
      'scopes: there is no scope "schools"; correct it in the test',
    ],
  );
});

test('a handler is called with a context of the test', async (t) => {
  const seen: { state: object }[] = [];
  const handler = (ctx: { state: object }): void => void seen.push({ state: { ...ctx.state } });

  const ctx = { state: {} };
  const principal = actingAsUser(ctx, ann, { gate, permissions: ['edit_school'] });
  handler(ctx);
  t.deepEqual(seen, [{ state: { user: ann, client: undefined, principal } }]);
  const own: School = { id: 'hill', registrarId: '1' };
  t.true(principal.can('edit_school', own));
  t.false(principal.can('edit_school', { ...own, registrarId: '2' }));
  t.false(principal.can('view_schools'));

  const job = actingAsClient(ctx, { name: 'Nightly report' }, { gate, permissions: ['view_schools'] });
  t.deepEqual(ctx.state, { user: undefined, client: job.client, principal: job });
  t.deepEqual([...job.permissions], ['view_schools']);

  t.throws(() => actingAsUser(ctx, ann, { gate, permissions: ['view_school' as 'view_schools'] }), {
    code: 'ERR_CONFIG',
    message: /there is no permission "view_school"/,
  });
});

test('a middleware in front of the guard can say who acts in this request', async (t) => {
  const server = await testServer({
    gate,
    users: [ann],
    app(auth) {
      const app = new Koa();
      app.use(async (ctx: Context, next: Next) => {
        if (ctx.get('x-acting') === 'ann') actingAsUser(ctx, ann, { gate, permissions: ['view_schools'] });
        await next();
      });
      app.use(auth.guard());
      app.use((ctx: Context) => {
        const principal = ctx.state['principal'] as Principal;
        ctx.body = [principal.user?.name, ...principal.permissions];
      });
      return app;
    },
  });
  t.teardown(server.close);
  const acting = await send(server.origin, { headers: { 'x-acting': 'ann' } });
  t.deepEqual(JSON.parse(acting.text), ['Ann', 'view_schools']);
  t.is((await send(server.origin)).status, 401);
});
