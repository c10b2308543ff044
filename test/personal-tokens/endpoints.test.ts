import test from 'ava';
import { defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { fakeClock } from 'koa-gatehouse/testing';

import { startPlatform } from '../harness/platform.ts';
import type { gate, Platform, RegisteredApp } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { asClient } from '../harness/tokens.ts';

const NIGHTLY = { user: '1', name: 'a', lifetime: '1 day', scopes: ['schools:read'] } as const;

const withIntrospection = defineGate({
  permissions: { view_schools: 'View', edit_schools: 'Edit', introspect_tokens: 'Introspect' },
  roles: { registrar: ['view_schools'] },
}) as unknown as typeof gate;

/** Posts a form to an endpoint, as an app unless there is none. */
async function post(
  platform: Platform,
  path: string,
  fields: Record<string, string>,
  app?: RegisteredApp,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const credentials = app ? asClient(app) : {};
  const body = new URLSearchParams({ ...fields, ...credentials });
  const response = await fetch(platform.url(path), { method: 'POST', body });
  return { status: response.status, body: (await response.json()) as Record<string, unknown> };
}

test('an API introspects a token; its permissions are those of its user at that moment', async (t) => {
  await using platform = await startPlatform({ gate: withIntrospection, tokens: { personal: true } });
  const { auth, users } = platform;
  const api = await platform.registerService(['introspect_tokens' as 'view_schools']);
  const other = await platform.registerService();
  const { expiresAt, id, value } = await auth.personalTokens.create(NIGHTLY);
  const introspected = await post(platform, '/oauth/introspect', { token: value }, api);
  t.like(introspected.body, {
    active: true,
    sub: '1',
    aud: platform.origin,
    scope: 'schools:read',
    principal: 'user',
    exp: expiresAt,
    iss: platform.origin,
  });
  t.false('client_id' in introspected.body);
  t.deepEqual((await post(platform, '/oauth/introspect', { token: value }, other)).body, { active: false });
  t.is((await post(platform, '/oauth/introspect', { token: value })).status, 400);
  t.deepEqual((await post(platform, '/oauth/introspect', { token: id }, api)).body, { active: false });
  const [ann] = users.all.splice(0, 1);
  t.deepEqual((await post(platform, '/oauth/introspect', { token: value }, api)).body, { active: false });
  users.all.unshift(ann!);
  t.deepEqual((await post(platform, '/oauth/introspect', { token: value }, api)).body, { active: false });

  await using bare = await startPlatform({ gate: withIntrospection, scopes: {}, tokens: { personal: true } });
  const service = await bare.registerService(['introspect_tokens' as 'view_schools']);
  const limited = await bare.auth.personalTokens.create({
    ...NIGHTLY,
    scopes: undefined,
    permissions: ['view_schools'],
  });
  const without = async (): Promise<unknown> =>
    (await post(bare, '/oauth/introspect', { token: limited.value }, service)).body;
  t.like(await without(), { active: true, limited: true, permissions: ['view_schools'] });
  bare.users.all[0] = { ...bare.users.all[0]!, permissions: [] };
  t.like(await without(), { active: true, limited: true, permissions: [] });
});

test('whoever has found a token ends it at the revocation endpoint, without a client', async (t) => {
  let isAway = false;
  const storage = around(memoryStorage(), async (name, call) => {
    if (isAway && name.startsWith('personalTokens.'))
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
    return call();
  });
  await using platform = await startPlatform({ storage, tokens: { personal: true } });
  const { value } = await platform.auth.personalTokens.create(NIGHTLY);
  const ended: string[] = [];
  platform.auth.events.on('personal_token_ended', ({ name }) => ended.push(name));
  const wrong = value.slice(0, -1) + (value.endsWith('a') ? 'b' : 'a');
  t.is((await post(platform, '/oauth/revoke', { token: wrong })).status, 400);
  t.is((await platform.api('/identity', value)).status, 200);
  isAway = true;
  t.is((await post(platform, '/oauth/revoke', { token: value })).status, 503);
  isAway = false;
  t.deepEqual(await post(platform, '/oauth/revoke', { token: value }), { status: 200, body: {} });
  t.is((await platform.api('/identity', value)).body['code'], 'token_invalid');
  t.deepEqual(await post(platform, '/oauth/revoke', { token: value }), { status: 200, body: {} });
  t.deepEqual(ended, ['a']);
});

test('a token gets no other one: as a secret, a code, a refresh token, an assertion or a registration token', async (t) => {
  const clients = { registration: { scopes: ['schools:read'] }, devices: true } as const;
  await using platform = await startPlatform({ clients, tokens: { personal: true } });
  const { value } = await platform.auth.personalTokens.create(NIGHTLY);
  const app = await platform.registerApp();
  const service = await platform.registerService();
  const asSecret = { client_id: service.client.id, client_secret: value };
  t.is(
    (await platform.token({ grant_type: 'client_credentials', ...asSecret })).body.error,
    'invalid_client',
  );
  const own = asClient(app);
  for (const [grant, name] of [
    ['refresh_token', 'refresh_token'],
    ['authorization_code', 'code'],
    ['urn:ietf:params:oauth:grant-type:token-exchange', 'subject_token'],
  ] as const) {
    const { body } = await platform.token({
      grant_type: grant,
      [name]: value,
      redirect_uri: app.redirectUri,
      ...own,
    });
    t.true(['invalid_grant', 'unsupported_grant_type', 'unauthorized_client'].includes(body.error!), grant);
  }
  const authorization = `Bearer ${value}`;
  const authorize = await fetch(
    platform.url(
      `/oauth/authorize?client_id=${app.client.id}&response_type=code&redirect_uri=${app.redirectUri}`,
    ),
    { headers: { authorization }, redirect: 'manual' },
  );
  t.regex(authorize.headers.get('location') ?? '', /\/oauth\/interaction\//);
  const registered = await fetch(platform.url(`/oauth/register/${app.client.id}`), {
    headers: { authorization },
  });
  t.is(registered.status, 401);
  t.false(JSON.stringify(platform.logger.lines).includes('gatehouse_pat_'));
});

test.serial('an expired token is not active, and one of another API has that audience', async (t) => {
  const API = 'https://api.example/v1';
  await using platform = await startPlatform({
    gate: withIntrospection,
    tokens: { personal: true },
    resources: { [API]: { scopes: { read: { description: 'Read', permissions: ['view_schools'] } } } },
  });
  const api = await platform.registerService(['introspect_tokens' as 'view_schools']);
  const { value } = await platform.auth.personalTokens.create({
    ...NIGHTLY,
    resource: API,
    scopes: ['read'],
  });
  const introspect = async () => (await post(platform, '/oauth/introspect', { token: value }, api)).body;
  t.like(await introspect(), { active: true, aud: API, scope: 'read' });
  using clock = fakeClock();
  clock.advance('25 hours');
  t.deepEqual(await introspect(), { active: false });
});
