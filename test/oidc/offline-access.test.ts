import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import type { ExecutionContext } from 'ava';

import { answer, beginOn, poll, registerDevice } from '../devices/device.ts';
import { Browser } from '../harness/browser.ts';
import { BOTH_SCOPES, runCodeFlow, signedIn, startPlatform } from '../harness/platform.ts';
import type { TokenAnswer } from '../harness/platform.ts';
import { exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(
    await startPlatform({
      features: [devices()],
      scopes: BOTH_SCOPES,
    }),
  );
  return { platform };
});

// Who may view and edit schools.
const asCleo = async (): Promise<Browser> => {
  const { platform } = await started();
  return signedIn(platform, 'cleo@school.example', 'open sesame');
};

/** A token that tells who its user is, and permits nothing. */
async function permitsNothing(t: ExecutionContext, token: string): Promise<void> {
  const { platform } = await started();
  t.is(decodeJwt(token)['scope'], undefined);
  const { body, status } = await platform.api('/identity', token);
  t.is(status, 200);
  t.like(body['data'], { type: 'user', permissions: [], scopes: [] });
  t.is((await platform.api('/schools', token)).status, 403);
}

test('offline_access beside scopes is granted, and is in no access token', async (t) => {
  const { platform } = await started();
  for (const scopes of [undefined, ['schools:read', 'schools:write']]) {
    const app = await platform.registerApp({ scopes });
    // With a login and a consent, after each of which the request is sent again.
    for (const scope of ['schools:read offline_access', 'offline_access schools:read']) {
      const { body } = await runCodeFlow(platform, app, { parameters: { scope } });
      const refresh = async (more = {}): Promise<TokenAnswer['body']> =>
        (await exchangeRefreshToken(platform, app, body.refresh_token, more)).body;
      const answers = [body, await refresh(), await refresh({ scope: 'offline_access schools:read' })];
      for (const { access_token: token, scope: granted } of answers) {
        t.is(granted, 'schools:read offline_access');
        t.is(decodeJwt(token)['scope'], 'schools:read');
      }
      t.is((await refresh({ scope: 'offline_access schools:write' })).error, 'invalid_scope');
    }
    const { body } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
    t.is(body.scope, 'schools:read', 'it was not requested');
  }
});

test('offline_access alone permits nothing but to know who the user is', async (t) => {
  const { platform } = await started();
  for (const scopes of [undefined, ['schools:read'], []]) {
    for (const firstParty of [true, false]) {
      const app = await platform.registerApp({ firstParty, scopes });
      // In the first, a login is asked for, after which the request is sent again.
      for (const [browser, prompt] of [
        [new Browser(), ''],
        [await asCleo(), 'consent'],
      ] as const) {
        const parameters = { scope: 'offline_access', prompt };
        const { body } = await runCodeFlow(platform, app, { browser, parameters });
        const next = await exchangeRefreshToken(platform, app, body.refresh_token);
        for (const { access_token: token, scope } of [body, next.body]) {
          t.is(scope, 'offline_access');
          await permitsNothing(t, token);
        }
      }
    }
  }
});

test('a refresh with offline_access alone is none without scopes', async (t) => {
  const { platform } = await started();
  const app = await platform.registerApp({ firstParty: true });
  const browser = await asCleo();
  for (const scope of ['', 'schools:read']) {
    const { body } = await runCodeFlow(platform, app, { browser, parameters: { scope } });
    const more = { scope: 'offline_access' };
    const { body: next } = await exchangeRefreshToken(platform, app, body.refresh_token, more);
    await permitsNothing(t, next.access_token);
    const { body: last } = await exchangeRefreshToken(platform, app, next.refresh_token);
    t.is((await platform.api('/schools', last.access_token)).status, 200, 'as it was granted');
  }
});

test('offline_access of a device is granted, and permits nothing alone', async (t) => {
  const { platform } = await started();
  const browser = await asCleo();
  const app = await registerDevice(platform);
  const tokensOf = async (scope: string): Promise<TokenAnswer['body']> => {
    const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope });
    await answer(platform, browser, userCode);
    return (await poll(platform, app, code)).body as unknown as TokenAnswer['body'];
  };
  const both = await tokensOf('offline_access schools:read');
  t.is(both.scope, 'schools:read offline_access');
  t.is(decodeJwt(both.access_token)['scope'], 'schools:read');
  const alone = await tokensOf('offline_access');
  t.is(alone.scope, 'offline_access');
  await permitsNothing(t, alone.access_token);
});

test('where no refresh token is issued, offline_access is an unknown scope', async (t) => {
  const { platform } = await started();
  const service = await platform.registerService(['view_schools']);
  const scope = 'schools:read offline_access';
  const { body, status } = await requestClientToken(platform, service, { scope });
  t.is(status, 400);
  t.like(body, {
    error: 'invalid_scope',
    error_description: 'requested scope is not allowed: offline_access',
  });
});
