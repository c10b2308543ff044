import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { ConfigError } from 'koa-gatehouse';
import type { TokenClaimsFunction } from 'koa-gatehouse';

import { like } from '../harness/like.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';

test('access tokens have the claims of tokenClaims() and those of the server', async (t) => {
  const contexts: Parameters<TokenClaimsFunction>[0][] = [];
  await using platform = await startPlatform({
    tokens: {
      async claims(context) {
        contexts.push(context);
        return { tenant: context.user?.name ?? context.client.name, roles: ['north'], left: undefined };
      },
    },
  });
  const [app, service] = [await platform.registerApp(), await platform.registerService(['view_schools'])];
  const code = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const refreshed = await exchangeRefreshToken(platform, app, code.body.refresh_token);
  const own = await requestClientToken(platform, service);
  const byHost = await platform.auth.issueToken({ clientId: app.client.id, userId: '1' });
  const ofUser = [code.body.access_token, refreshed.body.access_token, byHost];
  for (const token of ofUser) {
    like(t, decodeJwt(token), { tenant: 'Ann', roles: ['north'], sub: '1', principal: 'user' });
    t.is((await platform.api('/schools', token)).status, 200);
  }
  t.like(decodeJwt(own.body.access_token), { tenant: 'Nightly', principal: 'client' });
  t.false('left' in decodeJwt(own.body.access_token));
  t.is((await platform.api('/schools', own.body.access_token)).status, 200);
  t.deepEqual(
    contexts.map(({ client, grantId, scopes, user }) => [user?.id, client.id, scopes, grantId]),
    [
      ['1', app.client.id, ['schools:read'], decodeJwt(ofUser[0]!)['grant_id']],
      ['1', app.client.id, ['schools:read'], decodeJwt(ofUser[1]!)['grant_id']],
      [undefined, service.client.id, [], undefined],
      ['1', app.client.id, [], decodeJwt(byHost)['grant_id']],
    ],
  );
  const { body } = await postForm(String(platform.url('/oauth/introspect')), {
    token: code.body.access_token,
    ...asClient(app),
  });
  t.like(body, { active: true, tenant: 'Ann', principal: 'user', sub: '1', token_type: 'Bearer' });
});

test('a reserved name in tokenClaims() is a ConfigError, and no token is issued', async (t) => {
  const names =
    'iss sub aud exp nbf iat jti client_id scope auth_time acr amr principal grant_id revocation_sequence limited cnf act may_act authorization_details active token_type username'.split(
      ' ',
    );
  let claims: object = {};
  await using platform = await startPlatform({ tokens: { claims: () => claims as Record<string, unknown> } });
  const service = await platform.registerService();
  for (const name of names) {
    claims = { tenant: 'north', [name]: 'x' };
    const { body, status } = await requestClientToken(platform, service);
    t.deepEqual([status, body.error], [500, 'server_error'], name);
    const error = await t.throwsAsync(platform.auth.issueToken({ clientId: service.client.id }), {
      instanceOf: ConfigError,
    });
    t.true(error.message.startsWith(`tokens.claims: leave out ${name}: `), error.message);
  }
  t.is(platform.logger.lines.filter(({ level }) => level === 'error').length, names.length);
  claims = { sub: '2', tenant: 'north', exp: 1 };
  await t.throwsAsync(platform.auth.issueToken({ clientId: service.client.id }), {
    message: /^tokens.claims: leave out sub, exp: /,
  });
});

test('a result of tokenClaims() that is not an object is a ConfigError', async (t) => {
  let claims: unknown;
  await using platform = await startPlatform({ tokens: { claims: () => claims as undefined } });
  const { client } = await platform.registerService();
  for (claims of [null, 'north', 5, ['north'], new Map([['tenant', 'north']])]) {
    await t.throwsAsync(platform.auth.issueToken({ clientId: client.id }), {
      message: /^tokens.claims: return an object such as/,
    });
  }
  const circle: Record<string, unknown> = {};
  circle['circle'] = circle;
  for (claims of [{ big: 5n }, circle]) {
    await t.throwsAsync(platform.auth.issueToken({ clientId: client.id }), {
      message: /^tokens.claims: return a value that can be written as JSON/,
    });
  }
  claims = undefined;
  t.is(
    (await platform.api('/identity', await platform.auth.issueToken({ clientId: client.id }))).status,
    200,
  );
});

test('when tokenClaims() throws, the code or refresh token stays unused', async (t) => {
  let fails = false;
  await using platform = await startPlatform({
    tokens: {
      claims() {
        if (fails) throw new Error('the directory is unreachable');
        return { tenant: 'north' };
      },
    },
  });
  const app = await platform.registerApp();
  /** Sends a request while the claims cannot be made, and then again. */
  const repeat = async (request: () => Promise<TokenAnswer>): Promise<TokenAnswer['body']> => {
    fails = true;
    t.is((await request()).body.error, 'server_error');
    fails = false;
    return (await request()).body;
  };
  const code = (await authorize(platform, app)).get('code');
  const body = await repeat(async () => exchangeCode(platform, app, code));
  t.is(decodeJwt(body.access_token)['tenant'], 'north');
  const refreshed = await repeat(async () => exchangeRefreshToken(platform, app, body.refresh_token));
  t.is((await platform.api('/schools', refreshed.access_token)).status, 200);
});
