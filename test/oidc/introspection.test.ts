import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { defineGate, personalTokens } from 'koa-gatehouse';
import { issueToken, testServer } from 'koa-gatehouse/testing';

import { passTime, stopClock } from '../harness/clock.ts';
import { authorize, people, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { basic, postForm, postJson } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { asClient, clientToken, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ tokens: { revocationLag: 1 } }));
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ name: 'Other' });
  const service = await platform.registerService();
  const publicApp = await platform.registerApp({ name: 'Public', confidential: false });
  const INTROSPECT = `${platform.origin}/oauth/introspect`;
  return { platform, app, other, service, publicApp, INTROSPECT };
});

async function introspect(
  token: string,
  by?: RegisteredApp,
  more: Record<string, string> = {},
): Promise<Answer['body']> {
  const { app, INTROSPECT } = await started();
  const answer = await postForm(INTROSPECT, { ...asClient(by ?? app), token, ...more });
  if (answer.status !== 200) throw new Error(`${answer.status} ${answer.text}`);
  return answer.body;
}

const INACTIVE = { active: false };

test.serial('expired tokens are inactive', async (t) => {
  const { platform, app } = await started();
  const { body } = await runCodeFlow(platform, app);
  passTime(31_536_000 + 60);
  t.teardown(() => passTime(-31_536_060));
  for (const token of [body.access_token, body.refresh_token]) t.deepEqual(await introspect(token), INACTIVE);
});

test.serial('an access token is inactive from the second of its exp', async (t) => {
  const { platform, app } = await started();
  using _stopped = stopClock();
  const { body } = await runCodeFlow(platform, app);
  passTime(body.expires_in - 1);
  t.like(await introspect(body.access_token), { active: true });
  passTime(1);
  t.deepEqual(await introspect(body.access_token), INACTIVE);
});

test.serial('a used refresh token is inactive after refreshGrace', async (t) => {
  const { platform, app } = await started();
  const { body } = await runCodeFlow(platform, app);
  const { body: next } = await exchangeRefreshToken(platform, app, body.refresh_token);
  passTime(60);
  t.deepEqual(await introspect(body.refresh_token), INACTIVE);
  t.like(await introspect(next.refresh_token), { active: true });
  t.is(
    (await exchangeRefreshToken(platform, app, next.refresh_token)).status,
    200,
    'introspection does not revoke the family',
  );
});

test('introspection returns the documented members, whatever the token_type_hint', async (t) => {
  const { platform, app, service, INTROSPECT } = await started();
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const ofService = await clientToken(platform, service);
  const ofUser = {
    active: true,
    iss: platform.origin,
    sub: '1',
    client_id: app.client.id,
    scope: 'schools:read',
  };
  const audience = { aud: platform.origin, token_type: 'Bearer' };
  for (const [token, by, members] of [
    [body.access_token, app, { ...ofUser, ...audience, principal: 'user' }],
    [
      ofService,
      service,
      {
        active: true,
        iss: platform.origin,
        client_id: service.client.id,
        ...audience,
        principal: 'client',
      },
    ],
    [body.refresh_token, app, ofUser],
  ] as const) {
    for (const hint of ['access_token', 'refresh_token', 'nonsense']) {
      const { exp, iat, ...rest } = (await introspect(token, by, { token_type_hint: hint }))!;
      t.deepEqual(rest, members, hint);
      t.is(Number(exp) - Number(iat), 31_536_000);
    }
  }
  const { headers } = await postForm(INTROSPECT, { ...asClient(app), token: body.access_token });
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
});

test('the user has the name that the host gives, in each kind of token', async (t) => {
  const all = people();
  await using own = await startPlatform({
    users: { ...all, username: ({ email, id }) => (id === '2' ? undefined : email) },
    features: [personalTokens()],
  });
  const reports = await own.registerApp();
  const machine = await own.registerService();
  const ask = async (token: string, by = reports): Promise<Answer['body']> =>
    (await postForm(own.url('/oauth/introspect'), { ...asClient(by), token })).body;
  const { body } = await runCodeFlow(own, reports);
  for (const token of [body.access_token, body.refresh_token])
    t.like(await ask(token), { active: true, sub: '1', username: 'ann@school.example' });
  const ofClient = await ask(await clientToken(own, machine), machine);
  t.is(ofClient?.['active'], true);
  t.false('username' in ofClient!);
  const ofBob = await runCodeFlow(own, reports, { person: 'bob@school.example', password: 'battery staple' });
  const second = await ask(ofBob.body.access_token);
  t.is(second?.['sub'], '2');
  t.false('username' in second!);
});

test('unknown tokens, tokens of other clients and other credentials are inactive', async (t) => {
  const { platform, app, service, other } = await started();
  const { body } = await runCodeFlow(platform, app);
  const code = (await authorize(platform, app)).get('code')!;
  const [head, payload, signature] = body.access_token.split('.');
  const { jti, grant_id: grantId } = decodeJwt(body.access_token);
  for (const token of [
    'nonsense',
    `${head}.${payload}.${'A'.repeat(86)}`,
    `x.${payload}.${signature}`,
    'x'.repeat(20_000),
    '\u0000',
    jti!,
    grantId as string,
    code,
    app.secret,
    app.client.id,
    await clientToken(platform, service),
  ]) {
    t.deepEqual(await introspect(token), INACTIVE, token.slice(0, 60));
  }
  for (const token of [body.access_token, body.refresh_token]) {
    for (const by of [other, service]) t.deepEqual(await introspect(token, by), INACTIVE);
  }
  t.is((await exchangeCode(platform, app, code)).status, 200, 'introspection does not use up a code');
});

test('a client with introspect_tokens gets the access tokens of all clients, and no refresh tokens', async (t) => {
  const permissions = new Map<string, readonly ('introspect_tokens' | 'view_schools')[]>([['1', []]]);
  await using server = await testServer({
    gate: defineGate({
      permissions: { view_schools: 'View schools', introspect_tokens: 'Introspect tokens of all clients' },
      roles: { resource_server: ['introspect_tokens'] },
    }),
    users: {
      verifyPassword: async () => undefined,
      find: async (id: string) => (permissions.has(id) ? { id } : undefined),
      permissions: async ({ id }: { id: string }) => permissions.get(id) ?? [],
    },
  });
  const { clients } = server.auth;
  const reports = await clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: ['https://reports.example/callback'],
  });
  const fields = { name: 'Library', grantType: 'client_credentials' } as const;
  const job = await clients.create(fields);
  const api = await clients.create({ ...fields, roles: ['resource_server'] });
  const owned = await clients.create({ ...fields, permissions: ['introspect_tokens'], ownerId: 'olga' });
  const { exchange } = await server.authorize(reports, { id: '1' });
  const { access_token: ofUser, refresh_token: refreshToken } = await exchange();
  const ofJob = await issueToken(server.auth, { client: job.client });

  const asks = async ({ client, secret }: typeof job, token: string): Promise<Answer['body']> =>
    (await postForm(`${server.origin}/oauth/introspect`, { token }, basic(client.id, secret!.value))).body;
  t.like(await asks(api, ofUser), {
    active: true,
    sub: '1',
    client_id: reports.client.id,
    principal: 'user',
  });
  t.like(await asks(api, ofJob), { active: true, client_id: job.client.id, principal: 'client' });
  t.deepEqual(await asks(api, refreshToken), INACTIVE);
  t.deepEqual(await asks(job, ofUser), INACTIVE);

  // An app with an owner needs the permission of the owner too.
  t.deepEqual(await asks(owned, ofJob), INACTIVE, 'an unknown owner');
  permissions.set('olga', ['introspect_tokens']);
  t.like(await asks(owned, ofJob), { active: true });
  permissions.set('olga', ['view_schools']);
  t.deepEqual(await asks(owned, ofJob), INACTIVE);

  await server.auth.revoke({ userId: '1' });
  t.deepEqual(await asks(api, ofUser), INACTIVE);
  await clients.update(api.client.id, { roles: [] });
  t.deepEqual(await asks(api, ofJob), INACTIVE);
});

test('revoked tokens are inactive', async (t) => {
  const { platform, app } = await started();
  const { body } = await runCodeFlow(platform, app);
  await platform.auth.revoke({ token: body.access_token });
  t.deepEqual(await introspect(body.access_token), INACTIVE);
  t.like(await introspect(body.refresh_token), { active: true });
  await platform.auth.revoke({ token: body.refresh_token });
  t.deepEqual(await introspect(body.refresh_token), INACTIVE);

  const own = await platform.registerService();
  const ofOwn = await clientToken(platform, own);
  await platform.auth.revoke({ clientId: own.client.id });
  t.deepEqual(await introspect(ofOwn, own), INACTIVE);
});

test('tokens of a deleted user are inactive', async (t) => {
  const { platform, app } = await started();
  const users = platform.users.all;
  users.push({ id: 'kim', name: 'Kim', email: 'kim@school.example', password: 'p', permissions: [] });
  const { body } = await runCodeFlow(platform, app, { person: 'kim@school.example', password: 'p' });
  t.like(await introspect(body.access_token), { active: true, sub: 'kim' });
  users.pop();
  for (const token of [body.access_token, body.refresh_token]) t.deepEqual(await introspect(token), INACTIVE);
});

test('a public client sees no token, and a confidential one sends JSON or a form', async (t) => {
  const { platform, app, INTROSPECT, publicApp } = await started();
  const { body } = await runCodeFlow(platform, app);
  const token = body.access_token;
  const { parameters, verifier } = pkce();
  const code = (await authorize(platform, publicApp, { parameters })).get('code');
  const ofPublic = await exchangeCode(platform, publicApp, code, { code_verifier: verifier });
  t.deepEqual(await introspect(ofPublic.body.access_token, publicApp), INACTIVE);
  for (const answer of [
    await postJson(INTROSPECT, { ...asClient(app), token }),
    await postForm(INTROSPECT, { token }, { ...basic(app.client.id, app.secret), accept: 'application/jwt' }),
  ]) {
    t.like(answer.body, { active: true });
  }
});
