import test from 'ava';
import type { ExecutionContext } from 'ava';
import { actingAsClient, actingAsUser, issueToken, testServer } from 'koa-gatehouse/testing';
import type { TestServer } from 'koa-gatehouse/testing';

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

test('requests of an app that acts as a user need no token', async (t) => {
  const server = await start(t);
  const { get } = server;
  t.is((await get('/api/v1/schools')).status, 401);

  const acting = await actingAsUser(server, ann);
  t.is((await get('/api/v1/schools')).status, 200);
  t.deepEqual((await get('/api/v1/schools/hill/settings')).body, { data: { id: 'hill', editor: 'Ann' } });
  t.like(await get('/api/v1/schools/harbour/settings'), { status: 403, body: { permission: 'edit_school' } });

  acting.stop();
  t.is((await get('/api/v1/schools')).status, 401);
});

test('the identity is that of a token', async (t) => {
  const server = await start(t);
  const token = await issueToken(server.auth, { user: ann, scopes: ['schools:read'] });
  const byToken = await server.get('/api/v1/identity', token);
  using _acting = await actingAsUser(server, ann, { scopes: ['schools:read'] });
  const acting = await server.get('/api/v1/identity');
  t.like(acting, {
    status: 200,
    body: { data: { type: 'user', id: '1', name: 'Ann', permissions: ['view_schools'] } },
  });
  t.deepEqual(acting.body, byToken.body);
});

test('of several users the last one acts', async (t) => {
  const server = await start(t);
  using _first = await actingAsUser(server, ann);
  {
    using _second = await actingAsUser(server, bob);
    t.is((await server.get('/api/v1/schools')).status, 403);
  }
  t.is((await server.get('/api/v1/schools')).status, 200);
});

test('a user acts through a registered client', async (t) => {
  const server = await start(t);
  const { client } = await server.auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: ['https://reports.example/callback'],
  });
  using _acting = await actingAsUser(server, ann, { client });
  t.like((await server.get('/api/v1/identity')).body, { data: { id: '1', client_id: client.id } });
});

test('an app that acts as a client has the permissions of its registration', async (t) => {
  const server = await start(t);
  const { client } = await server.auth.clients.create({
    name: 'Sync',
    grantType: 'client_credentials',
    roles: ['registrar'],
  });
  using _acting = await actingAsClient(server, client);
  t.is((await server.get('/api/v1/schools')).status, 200);
  t.like((await server.get('/api/v1/identity')).body, {
    data: { type: 'client', client_id: client.id, name: 'Sync', roles: ['registrar'] },
  });
});

test('a client with an owner has the permissions that its owner has too', async (t) => {
  const server = await start(t);
  for (const [ownerId, status] of [
    [ann.id, 200],
    [bob.id, 403],
    ['gone', 403],
  ] as const) {
    const { client } = await server.auth.clients.create({
      name: 'Sync',
      grantType: 'client_credentials',
      permissions: ['view_schools'],
      ownerId,
    });
    using _acting = await actingAsClient(server, client);
    t.is((await server.get('/api/v1/schools')).status, status);
  }
});

test('a request with a token of its own keeps it, also an invalid one', async (t) => {
  const server = await start(t);
  const { auth, get } = server;
  using _acting = await actingAsUser(server, ann);
  const token = await issueToken(auth, { user: bob });
  t.like((await get('/api/v1/identity', token)).body, { data: { id: '2' } });
  t.is((await get('/api/v1/identity', 'nonsense')).status, 401);
  t.is((await get(`/api/v1/identity?access_token=${token}`)).status, 401);
});

test('a revoked user no longer acts', async (t) => {
  const server = await start(t);
  using _acting = await actingAsUser(server, ann);
  t.is((await server.get('/api/v1/schools')).status, 200);
  await server.auth.revoke({ user: ann.id });
  t.like(await server.get('/api/v1/schools'), { status: 401, body: { code: 'token_revoked' } });
});

test('clients still authenticate at the token endpoint while a user acts', async (t) => {
  const server = await start(t);
  using _acting = await actingAsUser(server, ann);
  const reports = await server.auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: ['https://reports.example/callback'],
  });
  const { exchange } = await server.authorize(reports, bob);
  const { access_token: token } = await exchange();
  t.like((await server.get('/api/v1/identity', token)).body, { data: { id: '2' } });
});

test('an unknown user, client or scope is an error of the test', async (t) => {
  const server = await start(t);
  await t.throwsAsync(actingAsUser(server, { id: '3', name: 'Cleo' }), {
    code: 'ERR_CONFIG',
    message: /users\.find\(\) finds no user with this id/,
  });
  for (const part of [{ app: server.app }, { auth: server.auth }, {}]) {
    await t.throwsAsync(actingAsUser(part as never, ann), {
      code: 'ERR_CONFIG',
      message: 'server: pass { app, auth }, such as what testServer() returns, or a context with state',
    });
  }
  await t.throwsAsync(actingAsUser(server, ann, { scopes: ['schools'] }), { code: 'ERR_CONFIG' });
  const { client } = await server.auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
  await t.throwsAsync(actingAsUser(server, ann, { client }), { code: 'ERR_CONFIG' });
  await server.auth.clients.delete(client.id);
  await t.throwsAsync(actingAsClient(server, client), { code: 'ERR_CLIENT_NOT_FOUND' });
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
