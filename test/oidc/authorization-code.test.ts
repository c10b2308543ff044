import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

const { storage, gather, pause } = pausable(memoryStorage());
const platform = await startPlatform({ storage, limits: { attempts: false } });
const app = await platform.registerApp({ firstParty: true });
const other = await platform.registerApp({ name: 'Other' });
test.after.always(() => platform[Symbol.asyncDispose]());

async function codeFor(to: RegisteredApp, parameters: Record<string, string> = {}): Promise<string> {
  return (await authorize(platform, to, { browser: new Browser(), parameters })).get('code')!;
}

async function redeem(
  code: string,
  by: RegisteredApp = app,
  more: Record<string, string> = {},
): Promise<TokenAnswer> {
  return exchangeCode(platform, by, code, more);
}

async function refresh(token: string, by: RegisteredApp = app): Promise<TokenAnswer> {
  return exchangeRefreshToken(platform, by, token);
}

const REFUSED = { error: 'invalid_grant', error_description: 'grant request is invalid' };

test.serial('a code works for a minute', async (t) => {
  const [early, late] = [await codeFor(app), await codeFor(app)];
  passTime(50);
  t.is((await redeem(early)).status, 200);
  passTime(11);
  const { status, body } = await redeem(late);
  t.is(status, 400);
  t.deepEqual(body, REFUSED);
});

// All 50 requests have read the unused code before the first of them marks it as used.
test.serial('of 50 concurrent redemptions one gets tokens, and they work', async (t) => {
  const code = await codeFor(app);
  gather('grants.redeem', 50);
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(code)));
  const [winner, ...more] = answers.filter(({ status }) => status === 200);
  t.deepEqual(more, []);
  for (const { status, body } of answers.filter((answer) => answer !== winner)) {
    t.is(status, 400);
    t.deepEqual(body, REFUSED);
  }
  t.is((await platform.api('/identity', winner!.body.access_token)).status, 200);
  t.is((await refresh(winner!.body.refresh_token)).status, 200);
});

test.serial('of 50 redemptions that have read the code at the same time one gets tokens', async (t) => {
  const code = await codeFor(app);
  gather('grants.findCredential', 50);
  gather('grants.redeem', 50);
  const answers = await Promise.all(Array.from({ length: 50 }, () => redeem(code)));
  const winners = answers.filter(({ status }) => status === 200);
  t.is(winners.length, 1);
  t.true(answers.every(({ status }) => status === 200 || status === 400));
  t.is((await platform.api('/identity', winners[0]!.body.access_token)).status, 200);
});

// Some requests read the code before it is marked as used, and some afterwards.
test.serial(
  'of 100 concurrent redemptions one gets tokens, and a later redemption revokes them',
  async (t) => {
    for (let round = 0; round < 3; round += 1) {
      const code = await codeFor(app);
      const answers = await Promise.all(Array.from({ length: 100 }, () => redeem(code)));
      const winners = answers.filter(({ status }) => status === 200);
      t.is(winners.length, 1);
      for (const { status, body } of answers.filter((answer) => answer !== winners[0])) {
        t.is(status, 400);
        t.deepEqual(body, REFUSED);
      }
      t.deepEqual((await redeem(code)).body, REFUSED);
      t.is((await platform.api('/identity', winners[0]!.body.access_token)).status, 401);
      t.deepEqual((await refresh(winners[0]!.body.refresh_token)).body, REFUSED);
    }
  },
);

// Some of the requests have another client, or a wrong secret, redirect URI or verifier.
test.serial(
  'of concurrent redemptions only one of the client with the right parameters gets tokens',
  async (t) => {
    const code = await codeFor(app);
    gather('grants.redeem', 10);
    const answers = await Promise.all([
      ...Array.from({ length: 10 }, () => redeem(code)),
      ...Array.from({ length: 10 }, () => redeem(code, other)),
      ...Array.from({ length: 10 }, () => redeem(code, app, { client_secret: 'wrong' })),
      ...Array.from({ length: 10 }, () => redeem(code, app, { redirect_uri: 'https://evil.example/' })),
      ...Array.from({ length: 10 }, () => redeem(code, app, { code_verifier: 'x'.repeat(43) })),
    ]);
    const winners = answers.filter(({ status }) => status === 200);
    t.is(winners.length, 1);
    t.true(answers.indexOf(winners[0]!) < 10);
    t.is((await platform.api('/identity', winners[0]!.body.access_token)).status, 200);
  },
);

test.serial('no token is issued when the grant is revoked during the redemption', async (t) => {
  const code = await codeFor(app);
  const { reached, resume } = pause('grants.redeem');
  const redeeming = redeem(code);
  await reached;
  await platform.auth.revoke({ user: '1' });
  resume();
  const { status, body } = await redeeming;
  t.is(status, 400);
  t.deepEqual(body, REFUSED);
  t.is((await redeem(await codeFor(app))).status, 200);
});

test('a code works once; using it again revokes the tokens of its first use', async (t) => {
  const code = await codeFor(app);
  const { status, body } = await redeem(code);
  t.is(status, 200);
  const refreshed = await refresh(body.refresh_token);
  t.is((await platform.api('/identity', body.access_token)).status, 200);

  const again = await redeem(code);
  t.is(again.status, 400);
  t.deepEqual(again.body, REFUSED);
  for (const token of [body.access_token, refreshed.body.access_token]) {
    const answer = await platform.api('/identity', token);
    t.is(answer.status, 401);
    t.is(answer.body['code'], 'token_revoked');
    t.is(answer.body['message'], 'The access token was revoked.');
  }
  for (const token of [body.refresh_token, refreshed.body.refresh_token]) {
    const answer = await refresh(token);
    t.is(answer.status, 400);
    t.deepEqual(answer.body, REFUSED);
  }
});

test('using a code again does not revoke tokens of other codes of the user', async (t) => {
  const [one, two] = [await codeFor(app), await codeFor(app)];
  await redeem(one);
  const { body } = await redeem(two);
  await redeem(one);
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  t.is((await refresh(body.refresh_token)).status, 200);
});

test('another client cannot redeem a code, mark it as used or revoke its tokens', async (t) => {
  const code = await codeFor(app);
  const service = await platform.registerService();
  const publicApp = await platform.registerApp({ confidential: false });
  for (const [by, error] of [
    [other, 'invalid_grant'],
    [service, 'unauthorized_client'],
    [publicApp, 'invalid_grant'],
    [{ ...app, secret: 'wrong' }, 'invalid_client'],
    [{ ...app, secret: '' }, 'invalid_client'],
  ] as const) {
    t.is((await redeem(code, by, { redirect_uri: app.redirectUri })).body.error, error);
  }
  const { status, body } = await redeem(code);
  t.is(status, 200);
  t.is((await redeem(code, other)).body.error, 'invalid_grant');
  t.is((await redeem(code, publicApp)).body.error, 'invalid_grant');
  t.is((await platform.api('/identity', body.access_token)).status, 200);
  t.is((await refresh(body.refresh_token)).status, 200);
});

test('a request with a wrong parameter does not mark the code as used', async (t) => {
  const code = await codeFor(app);
  for (const mistake of [
    { redirect_uri: 'https://evil.example/' },
    { redirect_uri: `${app.redirectUri}/` },
    { code_verifier: 'x'.repeat(43) },
    { resource: 'https://evil.example/' },
  ]) {
    const { status } = await redeem(code, app, mistake);
    t.is(status, 400, JSON.stringify(mistake));
  }
  t.is((await redeem(code)).status, 200);
});

test('a code is compared exactly', async (t) => {
  const code = await codeFor(app);
  for (const wrong of [
    code.slice(0, -1),
    `${code}x`,
    `${code}=`,
    ` ${code}`,
    `${code} `,
    `${code}\u0000`,
    code.toUpperCase(),
    code.toLowerCase(),
    '%',
    '_',
    "' or 1=1 --",
    'x'.repeat(20_000),
  ]) {
    t.deepEqual((await redeem(wrong)).body, REFUSED, wrong);
  }
  t.is((await redeem(code)).status, 200);
});

test('other credentials are refused as code, and a code as other credential', async (t) => {
  const code = await codeFor(app);
  t.is((await refresh(code)).body.error, 'invalid_grant');
  t.is((await platform.api('/identity', code)).status, 401);
  const { body } = await redeem(code);
  for (const token of [body.refresh_token, body.access_token, app.secret, app.client.id]) {
    t.is((await redeem(token)).body.error, 'invalid_grant');
  }
  t.is((await refresh(body.access_token)).body.error, 'invalid_grant');
  t.is((await refresh(body.refresh_token)).status, 200);
});

test('a scope in the token request does not widen the grant', async (t) => {
  const { body, status } = await redeem(await codeFor(app), app, { scope: 'schools:read' });
  t.is(status, 200);
  t.false('scope' in body);
});

// A token without scopes has all permissions of its user.
test('a code whose scopes the client may no longer request gives invalid_scope, not a token without scopes', async (t) => {
  const own = await platform.registerApp({ firstParty: true });
  const code = await codeFor(own, { scope: 'schools:read' });
  await platform.auth.clients.update(own.client.id, { scopes: [] });
  const refused = await redeem(code, own);
  t.is(refused.status, 400);
  t.like(refused.body, {
    error: 'invalid_scope',
    error_description: 'the scopes of this grant are not allowed any more',
  });
  await platform.auth.clients.update(own.client.id, { scopes: undefined });
  t.is((await redeem(code, own)).body.scope, 'schools:read', 'the code is still unused');
});

test.serial('the code of a deleted user or of a disabled client is refused', async (t) => {
  const [first, earlier] = [await codeFor(app), await codeFor(other)];
  const [ann] = platform.users.all.splice(0, 1);
  t.deepEqual((await redeem(first)).body, REFUSED);
  platform.users.all.unshift(ann!);
  t.deepEqual((await redeem(earlier, other)).body, REFUSED, 'the end of the user ends all codes');
  const second = await codeFor(other);
  await platform.auth.clients.disable(other.client.id);
  t.is((await redeem(second, other)).status, 401);
  await platform.auth.clients.enable(other.client.id);
  t.is((await redeem(second, other)).status, 200);
});
