import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { actingAsClient, actingAsUser, issueToken, testServer } from 'koa-gatehouse/testing';
import type { TestServer } from 'koa-gatehouse/testing';

import { like } from '../harness/like.ts';
import { send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { ann, bob, createApp, gate, REPORTS, scopes } from './school-app.ts';

async function start(
  t: ExecutionContext,
): Promise<TestServer & { get: (path: string, token?: string) => Promise<Answer> }> {
  const server = await testServer({ gate, scopes, users: [ann, bob], app: createApp });
  t.teardown(server.close);
  return {
    ...server,
    get: async (path, token) =>
      send(
        `${server.origin}/api/v1${path}`,
        token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } },
      ),
  };
}

test('requests of an app that acts as a user need no token; of several users the last one acts', async (t) => {
  const server = await start(t);
  const { get } = server;
  t.is((await get('/schools')).status, 401);
  const acting = await actingAsUser(server, ann);
  t.is((await get('/schools')).status, 200);
  t.deepEqual((await get('/schools/hill/settings')).body, { data: { id: 'hill', editor: 'Ann' } });
  t.like(await get('/schools/harbour/settings'), { status: 403, body: { permission: 'edit_school' } });
  {
    using _second = await actingAsUser(server, bob);
    t.is((await get('/schools')).status, 403);
  }
  t.is((await get('/schools')).status, 200);
  acting.stop();
  t.is((await get('/schools')).status, 401);
});

test('the identity is that of a token, also through a registered client, and ends with a revocation', async (t) => {
  const server = await start(t);
  const { auth, get } = server;
  const request = { user: ann, scopes: ['schools:read'] };
  const byToken = await get('/identity', await issueToken(auth, request));
  const acting = await actingAsUser(server, ann, request);
  const identity = await get('/identity');
  like(t, identity, {
    status: 200,
    body: { data: { type: 'user', id: '1', name: 'Ann', permissions: ['view_schools'] } },
  });
  t.deepEqual(identity.body, byToken.body);
  acting.stop();
  const { client } = await auth.clients.create(REPORTS);
  using _acting = await actingAsUser(server, ann, { client });
  t.like((await get('/identity')).body, { data: { id: '1', client_id: client.id } });
  await auth.revoke({ userId: ann.id });
  t.like(await get('/schools'), { status: 401, body: { code: 'token_revoked' } });
});

test('an app that acts as a client has the permissions of its registration, and of its owner too', async (t) => {
  const server = await start(t);
  const sync = { name: 'Sync', grantType: 'client_credentials', roles: ['registrar'] } as const;
  for (const [ownerId, status] of [
    [undefined, 200],
    [ann.id, 200],
    [bob.id, 403],
    ['gone', 403],
  ] as const) {
    const { client } = await server.auth.clients.create({ ...sync, ...(ownerId && { ownerId }) });
    using _acting = await actingAsClient(server, client);
    t.is((await server.get('/schools')).status, status);
    t.like((await server.get('/identity')).body, { data: { type: 'client', client_id: client.id } });
  }
});

test('a request with a token of its own keeps it, and clients still authenticate', async (t) => {
  const server = await start(t);
  const { auth, get } = server;
  using _acting = await actingAsUser(server, ann);
  const token = await issueToken(auth, { user: bob });
  t.like((await get('/identity', token)).body, { data: { id: '2' } });
  t.is((await get('/identity', 'nonsense')).status, 401);
  t.is((await get(`/identity?access_token=${token}`)).status, 401);

  const { exchange } = await server.authorize(await auth.clients.create(REPORTS), bob);
  const { access_token: own } = await exchange();
  t.like((await get('/identity', own)).body, { data: { id: '2' } });
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
  const ctx = { state: {} };
  const principal = actingAsUser(ctx, ann, { gate, permissions: ['edit_school'] });
  t.deepEqual(ctx.state, { user: ann, client: undefined, principal });
  t.true(principal.can('edit_school', { id: 'hill', registrarId: '1' }));
  t.false(principal.can('edit_school', { id: 'hill', registrarId: '2' }));
  t.false(principal.can('view_schools'));

  const job = actingAsClient(ctx, { name: 'Nightly report' }, { gate, permissions: ['view_schools'] });
  t.deepEqual(ctx.state, { user: undefined, client: job.client, principal: job });
  t.deepEqual([...job.permissions], ['view_schools']);

  t.throws(() => actingAsUser(ctx, ann, { gate, permissions: ['view_school' as 'view_schools'] }), {
    code: 'ERR_CONFIG',
    message: /there is no permission "view_school"/,
  });
});
