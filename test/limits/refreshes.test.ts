import test from 'ava';
import type { ExecutionContext } from 'ava';

import { passTime, stopClock } from '../harness/clock.ts';
import { authorize, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { asClient, exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

type Options = NonNullable<Parameters<typeof startPlatform>[0]>;

async function start(
  t: ExecutionContext,
  given: Options = {},
): Promise<{ platform: Platform; app: RegisteredApp }> {
  const platform = await startPlatform(given);
  t.teardown(async () => platform[Symbol.asyncDispose]());
  return { platform, app: await platform.registerApp({ firstParty: true, confidential: false }) };
}

/** Refreshes until it is refused. Resolves to the number of successful refreshes, the refusal and the current refresh token. */
async function refreshInLoop(platform: Platform, app: RegisteredApp, first: string, most = 1000) {
  let token = first;
  for (let count = 0; count < most; count += 1) {
    const answer = await exchangeRefreshToken(platform, app, token);
    if (answer.status !== 200) return { count, answer, token };
    token = answer.body.refresh_token;
  }
  return { count: most, answer: undefined, token };
}

async function newToken(platform: Platform, app: RegisteredApp): Promise<string> {
  const { parameters, verifier } = pkce();
  const callback = await authorize(platform, app, { parameters });
  const { body } = await exchangeCode(platform, app, callback.get('code'), { code_verifier: verifier });
  return body.refresh_token;
}

test.serial(
  'an authorization is refreshed 60 times an hour, and keeps its refresh token after it',
  async (t) => {
    using _stopped = stopClock();
    const { app, platform } = await start(t);
    const [first, other] = [await newToken(platform, app), await newToken(platform, app)];
    passTime(10);
    const { answer, count, token } = await refreshInLoop(platform, app, first);
    t.is(count, 60);
    t.is(answer?.status, 429);
    t.deepEqual(answer?.body as object, {
      error: 'temporarily_unavailable',
      error_description: 'too many refreshes of this authorization; try again in 3600 seconds',
    });
    t.is(answer?.headers.get('retry-after'), '3600');
    const [refused] = await platform.auth.audit.list({ clientId: app.client.id, types: ['token_refused'] });
    t.like(refused, { userId: '1', error: 'temporarily_unavailable' });
    t.is(
      (await exchangeRefreshToken(platform, app, other)).status,
      200,
      'another authorization of the same user and app',
    );
    passTime(3599);
    t.is((await exchangeRefreshToken(platform, app, token)).headers.get('retry-after'), '1');
    passTime(1);
    t.is((await exchangeRefreshToken(platform, app, token)).status, 200);
  },
);

test.serial(
  'a spent refresh token that leads to the current one is counted, and a refused one is not',
  async (t) => {
    using _stopped = stopClock();
    const { app, platform } = await start(t, { limits: { refreshes: 3 } });
    const first = await newToken(platform, app);
    t.is((await exchangeRefreshToken(platform, app, first)).status, 200);
    t.is((await exchangeRefreshToken(platform, app, first)).status, 200);
    const wrong = { grant_type: 'refresh_token', ...asClient(app) };
    t.is((await platform.token({ ...wrong, refresh_token: first, scope: 'schools:read' })).status, 400);
    t.is((await exchangeRefreshToken(platform, app, first)).status, 200);
    t.is((await exchangeRefreshToken(platform, app, first)).status, 429);
    passTime(60);
    t.is(
      (await exchangeRefreshToken(platform, app, first)).body.error,
      'invalid_grant',
      'reuse after the grace',
    );
  },
);

test('a confidential client, which its developer answers for, is not limited', async (t) => {
  const { platform } = await start(t, { limits: { refreshes: 3 } });
  const app = await platform.registerApp({ firstParty: true });
  t.is((await refreshInLoop(platform, app, await newToken(platform, app), 10)).answer, undefined);
});

test('short access tokens can be refreshed more often', async (t) => {
  const { app, platform } = await start(t, { tokens: { lifetimes: { accessToken: '5 minutes' } } });
  t.is((await refreshInLoop(platform, app, await newToken(platform, app))).count, 120);
});

test('limits.refreshes is another limit, and 0 is none', async (t) => {
  const five = await start(t, { limits: { refreshes: 5 } });
  t.is((await refreshInLoop(five.platform, five.app, await newToken(five.platform, five.app))).count, 5);
  const none = await start(t, { limits: { refreshes: 0 } });
  const token = await newToken(none.platform, none.app);
  t.is((await refreshInLoop(none.platform, none.app, token, 100)).answer, undefined);
});
