import { decodeJwt } from 'jose';
import test from 'ava';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { runCodeFlow, signIn, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';

const platform = await startPlatform({
  scopes: {
    'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
    'schools:write': { description: 'Change your schools', permissions: ['edit_schools'] },
  },
});
const app = await platform.registerApp({ firstParty: true });
const other = await platform.registerApp({ name: 'Other', firstParty: true });
const publicApp = await platform.registerApp({ name: 'Public', confidential: false });
test.after.always(() => platform[Symbol.asyncDispose]());

async function refresh(
  token: string,
  by: RegisteredApp = app,
  more: Record<string, unknown> = {},
): Promise<TokenAnswer> {
  return exchangeRefreshToken(platform, by, token, more);
}

const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };
const BOTH = { parameters: { scope: 'schools:read schools:write' } };

async function worksAt(token: string): Promise<boolean> {
  return (await platform.api('/identity', token)).status === 200;
}

test.serial('within refreshGrace a used refresh token gets the same successor again', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  const first = await refresh(body.refresh_token);
  passTime(5);
  const second = await refresh(body.refresh_token);
  t.is(second.status, 200);
  t.is(second.body.refresh_token, first.body.refresh_token);
  t.not(second.body.access_token, first.body.access_token);
  t.true(await worksAt(first.body.access_token));
  t.true(await worksAt(second.body.access_token));

  const next = await refresh(first.body.refresh_token);
  t.is(next.status, 200);
  t.not(next.body.refresh_token, first.body.refresh_token);
});

test.serial('a refresh token that is used again after refreshGrace revokes the family', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  const elsewhere = await runCodeFlow(platform, app);
  const first = await refresh(body.refresh_token);
  const second = await refresh(first.body.refresh_token);
  passTime(60);
  t.is((await refresh(second.body.refresh_token)).status, 200);
  const replayed = await refresh(body.refresh_token);
  t.is(replayed.status, 400);
  t.deepEqual(replayed.body, REFUSED);
  for (const { body: answer } of [first, second]) {
    t.deepEqual((await refresh(answer.refresh_token)).body, REFUSED);
    t.is((await platform.api('/identity', answer.access_token)).body['code'], 'token_revoked');
  }
  t.false(await worksAt(body.access_token));
  t.true(await worksAt(elsewhere.body.access_token), 'another family of the user still works');
  t.is((await refresh(elsewhere.body.refresh_token)).status, 200);
});

test.serial('another client cannot revoke a family with a used refresh token', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  const { body: next } = await refresh(body.refresh_token);
  passTime(11);
  t.deepEqual((await refresh(body.refresh_token, other)).body, REFUSED);
  t.deepEqual((await refresh(body.refresh_token, publicApp)).body, REFUSED);
  t.is((await refresh(body.refresh_token, app, { client_secret: 'x' })).body.error, 'invalid_client');
  t.is((await refresh(next.refresh_token)).status, 200);
});

test.serial(
  'a refresh token expires a year after its issue, and each refresh issues one for a year',
  async (t) => {
    const { body } = await runCodeFlow(platform, app);
    passTime(364 * 86_400);
    const { body: second } = await refresh(body.refresh_token);
    passTime(364 * 86_400);
    t.false(await worksAt(body.access_token), 'the first access token has expired');
    t.true(await worksAt(second.access_token));
    const { body: third, status } = await refresh(second.refresh_token);
    t.is(status, 200);
    passTime(366 * 86_400);
    t.deepEqual((await refresh(third.refresh_token)).body, REFUSED);
    t.false(await worksAt(third.access_token));
  },
);

test.serial('tokens outlive the session', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  passTime(30 * 86_400);
  t.is((await refresh(body.refresh_token)).status, 200);
});

test.serial('a refused request does not mark the refresh token as used', async (t) => {
  const { body } = await runCodeFlow(platform, app, BOTH);
  for (const [mistake, error] of [
    [{ resource: 'https://evil.example/' }, 'invalid_target'],
    [{ resource: 'nonsense' }, 'invalid_target'],
    [{ scope: 'unknown' }, 'invalid_scope'],
    [{ scope: 'a"b' }, 'invalid_scope'],
    [{ client_secret: 'wrong' }, 'invalid_client'],
  ] as const) {
    t.is((await refresh(body.refresh_token, app, mistake)).body.error, error);
  }
  passTime(11);
  const { status, body: next } = await refresh(body.refresh_token, app, { resource: platform.origin });
  t.is(status, 200);
  t.true(await worksAt(next.access_token));
});

test('each refresh gives new tokens for the same user, client and grant', async (t) => {
  const { body } = await runCodeFlow(platform, app, BOTH);
  const before = decodeJwt(body.access_token);
  let token = body.refresh_token;
  const seen = new Set([token]);
  for (let count = 0; count < 3; count += 1) {
    const { status, body: next, headers } = await refresh(token);
    t.is(status, 200);
    const { access_token: access, refresh_token: successor, ...rest } = next;
    t.deepEqual(rest, { token_type: 'Bearer', expires_in: 31_536_000, scope: 'schools:read schools:write' });
    t.is(headers.get('cache-control'), 'no-store');
    const { iat, exp, jti, ...claims } = decodeJwt(access);
    t.deepEqual(claims, {
      iss: platform.origin,
      aud: platform.origin,
      sub: '1',
      client_id: app.client.id,
      principal: 'user',
      grant_id: before['grant_id'],
      scope: 'schools:read schools:write',
    });
    t.is(exp! - iat!, 31_536_000);
    t.not(jti, before.jti);
    t.true(await worksAt(access));
    t.false(seen.has(successor));
    seen.add(successor);
    token = successor;
  }
  t.true(await worksAt(body.access_token), 'the first access token still works');
});

test('an empty scope is the same as no scope parameter', async (t) => {
  const { body } = await runCodeFlow(platform, app, BOTH);
  const { body: next } = await refresh(body.refresh_token, app, { scope: '' });
  t.is(next.scope, 'schools:read schools:write');
  const { body: without } = await runCodeFlow(platform, app);
  t.false('scope' in (await refresh(without.refresh_token, app, { scope: '' })).body);
});

test('a narrower scope applies to the new access token only', async (t) => {
  const { body } = await runCodeFlow(platform, app, BOTH);
  const narrow = await refresh(body.refresh_token, app, { scope: 'schools:write' });
  t.is(narrow.body.scope, 'schools:write');
  t.is(decodeJwt(narrow.body.access_token)['scope'], 'schools:write');
  t.is((await platform.api('/schools', narrow.body.access_token)).status, 403);
  const wide = await refresh(narrow.body.refresh_token);
  t.is(wide.body.scope, 'schools:read schools:write');
});

test('a wider scope is refused, and does not mark the token as used', async (t) => {
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const { body: unscoped } = await runCodeFlow(platform, app);
  for (const [token, scope] of [
    [body.refresh_token, 'schools:write'],
    [body.refresh_token, 'schools:read schools:write'],
    [body.refresh_token, 'schools:read unknown'],
    [body.refresh_token, 'SCHOOLS:READ'],
    [unscoped.refresh_token, 'schools:read'],
  ] as const) {
    const answer = await refresh(token, app, { scope });
    t.is(answer.status, 400, scope);
    t.is(answer.body.error, 'invalid_scope', scope);
    t.false('access_token' in answer.body);
  }
  t.is((await refresh(body.refresh_token)).status, 200);
  t.is((await refresh(unscoped.refresh_token)).status, 200);
});

test('the scope * of apps of Laravel Passport is all that was granted, and no more', async (t) => {
  const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const answer = await refresh(body.refresh_token, app, { scope: '*' });
  t.like(answer, { status: 200, body: { scope: 'schools:read' } });
});

// A token without scopes has all permissions of its user.
test('a refresh of scopes that the client may no longer request gives invalid_scope', async (t) => {
  const narrow = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, narrow, { parameters: { scope: 'schools:read' } });
  await platform.auth.clients.update(narrow.client.id, { scopes: ['schools:write'] });
  for (const more of [{}, { scope: '' }, { scope: 'schools:read' }]) {
    const answer = await refresh(body.refresh_token, narrow, more);
    t.is(answer.status, 400);
    t.like(answer.body, {
      error: 'invalid_scope',
      error_description: 'the scopes of this grant are not allowed any more',
    });
  }
  await platform.auth.clients.update(narrow.client.id, { scopes: undefined });
  const answer = await refresh(body.refresh_token, narrow);
  t.is(answer.body.scope, 'schools:read', 'the token is still unused');
});

test('the new token has the scopes that the client may still request', async (t) => {
  const narrow = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, narrow, BOTH);
  await platform.auth.clients.update(narrow.client.id, { scopes: ['schools:write'] });
  const { body: next } = await refresh(body.refresh_token, narrow);
  t.is(next.scope, 'schools:write');
  t.is(decodeJwt(next.access_token)['scope'], 'schools:write');
  const refused = await refresh(next.refresh_token, narrow, { scope: 'schools:read' });
  t.is(refused.body.error, 'invalid_scope');
});

test('another client cannot use a refresh token, nor mark it as used', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  const service = await platform.registerService();
  for (const [by, status, error] of [
    [other, 400, 'invalid_grant'],
    [publicApp, 400, 'invalid_grant'],
    [service, 400, 'unauthorized_client'],
    [{ ...app, secret: 'wrong' }, 401, 'invalid_client'],
    [{ ...app, secret: '' }, 401, 'invalid_client'],
    [{ ...app, secret: other.secret }, 401, 'invalid_client'],
  ] as const) {
    const answer = await refresh(body.refresh_token, by);
    t.is(answer.status, status);
    t.is(answer.body.error, error);
  }
  t.is((await refresh(body.refresh_token)).status, 200);
});

test('a refresh token is compared exactly', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  const token = body.refresh_token;
  for (const wrong of [
    token.slice(1),
    `${token}x`,
    ` ${token}`,
    `${token}\u0000`,
    token.toLowerCase(),
    '%',
  ]) {
    t.deepEqual((await refresh(wrong)).body, REFUSED, wrong);
  }
  t.is((await refresh(token)).status, 200);
});

test('the refresh token of a deleted user is refused, also when the id is given to another user', async (t) => {
  const users = platform.users.all;
  users.push({ id: 'gus', name: 'Gus', email: 'gus@school.example', password: 'p', permissions: [] });
  const browser = new Browser();
  await signIn(browser, await browser.open(authorizeUrl(platform, app)), 'gus@school.example', 'p');
  const { body } = await runCodeFlow(platform, app, { browser });
  const [gus] = users.splice(
    users.findIndex(({ id }) => id === 'gus'),
    1,
  );
  const answer = await refresh(body.refresh_token);
  t.is(answer.status, 400);
  t.deepEqual(answer.body, REFUSED);
  users.push(gus!);
  t.is((await refresh(body.refresh_token)).status, 400);
});

test('a disabled client gets no tokens until it is enabled', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, own);
  await platform.auth.clients.disable(own.client.id);
  const answer = await refresh(body.refresh_token, own);
  t.is(answer.status, 401);
  t.is(answer.body.error, 'invalid_client');
  await platform.auth.clients.enable(own.client.id);
  t.is((await refresh(body.refresh_token, own)).status, 200);
});

test('deleting a client ends its tokens', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const { body } = await runCodeFlow(platform, own);
  await platform.auth.clients.delete(own.client.id);
  t.is((await refresh(body.refresh_token, own)).status, 401);
  t.false(await worksAt(body.access_token));
});
