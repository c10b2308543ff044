import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import type { RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { pausable } from '../harness/storage.ts';
import { exchangeCode, exchangeRefreshToken, REFUSED_GRANT } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const { storage, gather, pause } = pausable(memoryStorage());
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage, limits: { attempts: false } }));
  const app = await platform.registerApp({ firstParty: true });
  const other = await platform.registerApp({ name: 'Other' });
  return { platform, app, other };
});

async function codeFor(to: RegisteredApp, parameters: Record<string, string> = {}): Promise<string> {
  const { platform } = await started();
  return (await authorize(platform, to, { browser: new Browser(), parameters })).get('code')!;
}

async function redeem(
  code: string,
  by?: RegisteredApp,
  more: Record<string, string> = {},
): Promise<TokenAnswer> {
  const { app, platform } = await started();
  return exchangeCode(platform, by ?? app, code, more);
}

async function refresh(token: string, by?: RegisteredApp): Promise<TokenAnswer> {
  const { app, platform } = await started();
  return exchangeRefreshToken(platform, by ?? app, token);
}

const REFUSED = {
  status: 400,
  body: REFUSED_GRANT,
};

test.serial('a code works for a minute', async (t) => {
  const { app } = await started();
  const [early, late] = [await codeFor(app), await codeFor(app)];
  passTime(50);
  t.is((await redeem(early)).status, 200);
  passTime(11);
  t.like(await redeem(late), REFUSED);
});

// All have read the unused code before the first of them marks it as used.
test.serial('of concurrent redemptions one gets tokens, and they work', async (t) => {
  const { app, platform } = await started();
  const code = await codeFor(app);
  gather('grants.redeem', 20);
  const answers = await Promise.all(Array.from({ length: 20 }, () => redeem(code)));
  const [winner, ...more] = answers.filter(({ status }) => status === 200);
  t.deepEqual(more, []);
  for (const answer of answers) if (answer !== winner) t.like(answer, REFUSED);
  t.is((await platform.api('/identity', winner!.body.access_token)).status, 200);
  t.is((await refresh(winner!.body.refresh_token)).status, 200);
});

test.serial('no token is issued when the grant is revoked during the redemption', async (t) => {
  const { app, platform } = await started();
  const code = await codeFor(app);
  const { reached, resume } = pause('grants.redeem');
  const redeeming = redeem(code);
  await reached;
  await platform.auth.revoke({ userId: '1' });
  resume();
  t.like(await redeeming, REFUSED);
  t.is((await redeem(await codeFor(app))).status, 200);
});

test('a code works once; using it again revokes the tokens of its first use', async (t) => {
  const { app, platform } = await started();
  const [code, another] = [await codeFor(app), await codeFor(app)];
  const { status, body } = await redeem(code);
  t.is(status, 200);
  const refreshed = await refresh(body.refresh_token);
  const { body: unaffected } = await redeem(another);

  t.like(await redeem(code), REFUSED);
  for (const token of [body.access_token, refreshed.body.access_token]) {
    t.like(await platform.api('/identity', token), {
      status: 401,
      body: { code: 'token_revoked', message: 'The access token was revoked.' },
    });
  }
  for (const token of [body.refresh_token, refreshed.body.refresh_token])
    t.like(await refresh(token), REFUSED);
  t.is((await platform.api('/identity', unaffected.access_token)).status, 200);
  t.is((await refresh(unaffected.refresh_token)).status, 200);
});

test('another client cannot redeem a code, mark it as used or revoke its tokens', async (t) => {
  const { app, platform, other } = await started();
  const code = await codeFor(app);
  const service = await platform.registerService();
  const publicApp = await platform.registerApp({ confidential: false });
  for (const [by, error] of [
    [other, 'invalid_grant'],
    [service, 'unauthorized_client'],
    [publicApp, 'invalid_grant'],
    [{ ...app, secret: 'wrong' }, 'invalid_client'],
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
  const { app } = await started();
  const code = await codeFor(app);
  for (const mistake of [
    { redirect_uri: 'https://evil.example/' },
    { redirect_uri: `${app.redirectUri}/` },
    { code_verifier: 'x'.repeat(43) },
    { resource: 'https://evil.example/' },
  ]) {
    t.is((await redeem(code, app, mistake)).status, 400, JSON.stringify(mistake));
  }
  t.is((await redeem(code)).status, 200);
});

test('a code is compared exactly', async (t) => {
  const { app } = await started();
  const code = await codeFor(app);
  for (const wrong of [
    code.slice(0, -1),
    `${code}=`,
    ` ${code}`,
    `${code}\u0000`,
    code.toLowerCase(),
    '%',
    "' or 1=1 --",
    'x'.repeat(20_000),
  ]) {
    t.like(await redeem(wrong), REFUSED, wrong);
  }
  t.is((await redeem(code)).status, 200);
});

test('other credentials are refused as code, and a code as other credential', async (t) => {
  const { app, platform } = await started();
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
  const { app } = await started();
  const { body, status } = await redeem(await codeFor(app), app, { scope: 'schools:read' });
  t.deepEqual([status, body.scope], [200, undefined]);
});

// A token without scopes has all permissions of its user.
test('a code whose scopes the client may no longer request gives invalid_scope, not a token without scopes', async (t) => {
  const { platform } = await started();
  const own = await platform.registerApp({ firstParty: true });
  const code = await codeFor(own, { scope: 'schools:read' });
  await platform.auth.clients.update(own.client.id, { scopes: [] });
  t.like(await redeem(code, own), {
    status: 400,
    body: {
      error: 'invalid_scope',
      error_description: 'the scopes of this grant are not allowed any more',
    },
  });
  await platform.auth.clients.update(own.client.id, { scopes: undefined });
  t.is((await redeem(code, own)).body.scope, 'schools:read', 'the code is still unused');
});

test.serial('the code of a deleted user or of a disabled client is refused', async (t) => {
  const { app, other, platform } = await started();
  const [first, earlier] = [await codeFor(app), await codeFor(other)];
  const [ann] = platform.users.all.splice(0, 1);
  t.like(await redeem(first), REFUSED);
  platform.users.all.unshift(ann!);
  t.like(await redeem(earlier, other), REFUSED, 'the end of the user ends all codes');
  const second = await codeFor(other);
  await platform.auth.clients.disable(other.client.id);
  t.is((await redeem(second, other)).status, 401);
  await platform.auth.clients.enable(other.client.id);
  t.is((await redeem(second, other)).status, 200);
});
