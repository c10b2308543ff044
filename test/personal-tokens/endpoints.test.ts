import test from '../harness/test.ts';
import type { User } from 'koa-gatehouse';
import { agents, personalTokens, devices, defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { fakeClock } from 'koa-gatehouse/testing';

import { Browser } from '../harness/browser.ts';
import { authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { gate, Platform, RegisteredApp } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { breakable } from '../harness/storage.ts';
import { altered, asClient } from '../harness/tokens.ts';

const NIGHTLY = { userId: '1', name: 'a', lifetime: '1 day', scopes: ['schools:read'] } as const;

const withIntrospection = defineGate({
  permissions: { view_schools: 'View', edit_schools: 'Edit', introspect_tokens: 'Introspect' },
  roles: { registrar: ['view_schools'] },
}) as unknown as typeof gate;

/** What an app is told of a token. */
async function introspect(
  platform: Platform,
  token: string,
  app: RegisteredApp,
): Promise<object | undefined> {
  return (await postForm(platform.url('/oauth/introspect'), { token, ...asClient(app) })).body;
}

/** Ends a token as somebody who is no client. */
async function revoke(platform: Platform, token: string): Promise<readonly [number, unknown]> {
  const { body, status } = await postForm(platform.url('/oauth/revoke'), { token });
  return [status, body];
}

test('an API introspects a token; its permissions are those of its user at that moment', async (t) => {
  await using platform = await startPlatform({ gate: withIntrospection, features: [personalTokens()] });
  const { auth, users } = platform;
  const api = await platform.registerService(['introspect_tokens' as 'view_schools']);
  const { expiresAt, id, value } = await auth.personalTokens.create(NIGHTLY);
  const introspected = (await introspect(platform, value, api))!;
  t.like(introspected, {
    active: true,
    sub: '1',
    aud: platform.origin,
    scope: 'schools:read',
    principal: 'user',
    exp: expiresAt,
    iss: platform.origin,
  });
  t.false('client_id' in introspected);
  t.false('username' in introspected);
  Object.assign(users, { username: ({ email = '' }: User) => email });
  t.like(await introspect(platform, value, api), { username: 'ann@school.example' });
  const inactive = { active: false };
  t.deepEqual(await introspect(platform, value, await platform.registerService()), inactive);
  t.is((await postForm(platform.url('/oauth/introspect'), { token: value })).status, 400);
  t.deepEqual(await introspect(platform, id, api), inactive);
  const [ann] = users.all.splice(0, 1);
  t.deepEqual(await introspect(platform, value, api), inactive);
  users.all.unshift(ann!);
  t.deepEqual(await introspect(platform, value, api), inactive);

  await using bare = await startPlatform({
    gate: withIntrospection,
    scopes: {},
    features: [personalTokens()],
  });
  const service = await bare.registerService(['introspect_tokens' as 'view_schools']);
  const permissions = ['view_schools'] as const;
  const limited = await bare.auth.personalTokens.create({ ...NIGHTLY, scopes: undefined, permissions });
  t.like(await introspect(bare, limited.value, service), { active: true, limited: true, permissions });
  bare.users.all[0] = { ...bare.users.all[0]!, permissions: [] };
  t.like(await introspect(bare, limited.value, service), { active: true, limited: true, permissions: [] });
});

test('whoever has found a token ends it at the revocation endpoint, without a client', async (t) => {
  const away = Object.assign(new Error('away'), { code: 'ECONNREFUSED' });
  const { broken, storage } = breakable(memoryStorage(), away);
  await using platform = await startPlatform({ storage, features: [personalTokens()] });
  const { value } = await platform.auth.personalTokens.create(NIGHTLY);
  const ended: string[] = [];
  platform.auth.events.on('personal_token_revoked', ({ name }) => ended.push(name));
  t.is((await revoke(platform, altered(value)))[0], 400);
  t.is((await platform.api('/identity', value)).status, 200);
  broken.add('personalTokens');
  t.is((await revoke(platform, value))[0], 503);
  broken.clear();
  t.deepEqual(await revoke(platform, value), [200, {}]);
  t.is((await platform.api('/identity', value)).body['code'], 'token_invalid');
  t.deepEqual(await revoke(platform, value), [200, {}]);
  t.deepEqual(ended, ['a']);
});

test('a token gets no other one: as a secret, a code, a refresh token, an assertion or a registration token', async (t) => {
  await using platform = await startPlatform({
    features: [
      agents({ registration: { scopes: ['schools:read'] }, documents: false }),
      devices(),
      personalTokens(),
    ],
  });
  const { value } = await platform.auth.personalTokens.create(NIGHTLY);
  const app = await platform.registerApp();
  const { client } = await platform.registerService();
  for (const [grant_type, fields, error] of [
    ['client_credentials', { client_id: client.id, client_secret: value }, 'invalid_client'],
    ['refresh_token', { ...asClient(app), refresh_token: value }, 'invalid_grant'],
    ['authorization_code', { ...asClient(app), code: value, redirect_uri: app.redirectUri }, 'invalid_grant'],
    [
      'urn:ietf:params:oauth:grant-type:token-exchange',
      { ...asClient(app), subject_token: value },
      'unsupported_grant_type',
    ],
  ] as const)
    t.is((await platform.token({ grant_type, ...fields })).body.error, error);
  const headers = { authorization: `Bearer ${value}` };
  const authorized = await new Browser().get(authorizeUrl(platform, app), headers);
  t.regex(authorized.location?.pathname ?? '', /^\/oauth\/interaction\//);
  t.is((await send(platform.url(`/oauth/register/${app.client.id}`), { headers })).status, 401);
  t.false(JSON.stringify(platform.logger.lines).includes('gatehouse_pat_'));
});

test.serial('an expired token is not active, and one of another API has that audience', async (t) => {
  const API = 'https://api.example/v1';
  await using platform = await startPlatform({
    gate: withIntrospection,
    features: [personalTokens()],
    resources: { [API]: { scopes: { read: { description: 'Read', permissions: ['view_schools'] } } } },
  });
  const api = await platform.registerService(['introspect_tokens' as 'view_schools']);
  const token = { ...NIGHTLY, resource: API, scopes: ['read'] } as const;
  const { value } = await platform.auth.personalTokens.create(token);
  t.like(await introspect(platform, value, api), { active: true, aud: API, scope: 'read' });
  using clock = fakeClock();
  clock.advance('25 hours');
  t.deepEqual(await introspect(platform, value, api), { active: false });
});
