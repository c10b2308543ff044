import test from '../harness/test.ts';

import { passTime, stopClock } from '../harness/clock.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { appOf, registered, startOpen } from '../agents/apps.ts';
import { exchangeCode, exchangeRefreshToken } from '../harness/tokens.ts';

async function newToken(platform: Platform, app: RegisteredApp): Promise<string> {
  const { parameters, verifier } = pkce();
  const callback = await authorize(platform, app, { parameters });
  const { body } = await exchangeCode(platform, app, callback.get('code'), { code_verifier: verifier });
  return body.refresh_token;
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

const PUBLIC = { firstParty: true, confidential: false };

test.serial(
  'an authorization is refreshed 60 times an hour, and keeps its refresh token after it',
  async (t) => {
    using _stopped = stopClock();
    await using platform = await startPlatform();
    const app = await platform.registerApp(PUBLIC);
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
    // Another authorization of the same user and app.
    t.is((await exchangeRefreshToken(platform, app, other)).status, 200);
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
    await using platform = await startPlatform({ limits: { refreshes: 3 } });
    const app = await platform.registerApp(PUBLIC);
    const first = await newToken(platform, app);
    const statuses: number[] = [];
    for (const more of [{}, {}, { scope: 'schools:read' }, {}, {}])
      statuses.push((await exchangeRefreshToken(platform, app, first, more)).status);
    t.deepEqual(statuses, [200, 200, 400, 200, 429]);
    passTime(60);
    // It is used again after the grace.
    t.is((await exchangeRefreshToken(platform, app, first)).body.error, 'invalid_grant');
  },
);

test('the limit is an option, is higher for short access tokens, and is none for a confidential client of the platform', async (t) => {
  for (const [options, fields, count] of [
    [{ tokens: { lifetimes: { accessToken: '5 minutes' } } }, PUBLIC, 120],
    [{ limits: { refreshes: 5 } }, PUBLIC, 5],
    [{ limits: { refreshes: 0 } }, PUBLIC, 130],
    [{ limits: { refreshes: 5 } }, { firstParty: true }, 130],
    [{ limits: { refreshes: 5 } }, { verified: true, ownerId: '1' }, 130],
    [{ limits: { refreshes: 5 } }, { ownerId: '1' }, 5],
  ] as const) {
    await using platform = await startPlatform(options);
    const app = await platform.registerApp(fields);
    t.is((await refreshInLoop(platform, app, await newToken(platform, app), 130)).count, count);
  }
});

test('an app that registered itself has the limit, also with a secret', async (t) => {
  const platform = await startOpen(t, { limits: { refreshes: 5 } });
  const app = await appOf(platform, await registered(platform));
  t.true(app.client.confidential);
  t.is((await refreshInLoop(platform, app, await newToken(platform, app), 20)).count, 5);
});

test('all authorizations of a user for an app have ten times the limit together, with new ones', async (t) => {
  const platform = await startOpen(t, { limits: { refreshes: 2 } });
  const app = await appOf(platform, await registered(platform));
  const other = await appOf(platform, await registered(platform));
  const first = await newToken(platform, app);
  for (let count = 1; count <= 17; count += 1) await newToken(platform, app);
  t.is((await refreshInLoop(platform, app, first)).count, 2);
  const callback = await authorize(platform, app);
  const answer = await exchangeCode(platform, app, callback.get('code'));
  t.is(answer.status, 429);
  t.deepEqual(answer.body as object, {
    error: 'temporarily_unavailable',
    error_description: `too many sign-ins of this user at this client; try again in ${answer.headers.get('retry-after')} seconds`,
  });
  // At another app, and another user.
  t.truthy(await newToken(platform, other));
  const bob = { person: 'bob@school.example', password: 'battery staple' };
  t.is((await runCodeFlow(platform, app, bob)).status, 200);
});
