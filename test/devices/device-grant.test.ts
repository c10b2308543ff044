import test from '../harness/test.ts';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { signIn, signedIn } from '../harness/platform.ts';
import { postJson } from '../harness/requests.ts';
import { asClient, exchangeRefreshToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import {
  answer,
  beginOn,
  DEVICE_GRANT,
  enter,
  errorOf,
  poll,
  pollLater,
  registerDevice,
  requestCode,
  startDevicePlatform,
} from './device.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startDevicePlatform({ limits: { attempts: false } }));
  const app = await registerDevice(platform);
  return { platform, app };
});

test.serial('a device gets tokens when its user has entered the code, and refreshes them', async (t) => {
  const { platform, app } = await started();
  const response = await requestCode(platform, app, { scope: 'schools:read' });
  t.is(response.status, 200);
  t.is(response.headers.get('cache-control'), 'no-store');
  const body = response.body as unknown as Awaited<ReturnType<typeof beginOn>>;
  t.is(Object.keys(body).length, 6);
  t.regex(body.user_code, /^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/);
  t.true(Buffer.from(body.device_code, 'base64url').length >= 32);
  t.is(body.verification_uri, platform.url('/oauth/device').href);
  t.is(body.verification_uri_complete, `${body.verification_uri}?user_code=${body.user_code}`);
  t.like(body, { expires_in: 600, interval: 5 });

  t.deepEqual(errorOf(await poll(platform, app, body.device_code)), [400, 'authorization_pending']);
  const done = await answer(platform, await signedIn(platform), body.user_code);
  t.is(done.heading, 'Your device is connected');
  t.regex(done.text, /You can return to your device/);

  const tokens = await pollLater(platform, app, body.device_code);
  t.is(tokens.status, 200);
  t.is(tokens.headers.get('cache-control'), 'no-store');
  t.like(tokens.body, { token_type: 'Bearer', expires_in: 31_536_000, scope: 'schools:read' });
  const { access_token: access, refresh_token: refresh } = tokens.body as Record<string, string>;
  like(t, (await platform.api('/identity', access)).body, {
    data: { type: 'user', name: 'Ann', client_id: app.client.id, scopes: ['schools:read'] },
  });
  const refreshed = await exchangeRefreshToken(platform, app, refresh);
  t.like(refreshed, { status: 200, body: { scope: 'schools:read' } });
});

test.serial('a confidential client authenticates at both endpoints', async (t) => {
  const { platform } = await started();
  const television = await registerDevice(platform, { name: 'Television', confidential: true });
  const { device_code: code, user_code: userCode } = await beginOn(platform, television);
  const refused = await requestCode(platform, { ...television, secret: 'wrong' });
  t.deepEqual(errorOf(refused), [401, 'invalid_client']);
  await answer(platform, await signedIn(platform), userCode);
  t.deepEqual(errorOf(await poll(platform, { ...television, secret: 'wrong' }, code)), [
    401,
    'invalid_client',
  ]);
  t.is((await poll(platform, television, code)).status, 200);
});

test.serial('both endpoints take JSON, and the code of another client is unknown', async (t) => {
  const { platform, app } = await started();
  const { body } = await postJson(platform.url('/oauth/device_authorization'), asClient(app));
  const code = String(body?.['device_code']);
  const request = { grant_type: DEVICE_GRANT, ...asClient(app), device_code: code };
  const pending = await postJson(platform.url('/oauth/token'), request);
  t.deepEqual(errorOf(pending), [400, 'authorization_pending']);
  const other = await registerDevice(platform, { name: 'Other' });
  passTime(5);
  t.deepEqual(errorOf(await poll(platform, other, code)), [400, 'invalid_grant']);
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'authorization_pending'], 'not a poll');
});

test.serial('a denied request is access_denied, at each poll, and cannot be approved any more', async (t) => {
  const { platform, app } = await started();
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const browser = await signedIn(platform);
  const asked = await enter(platform, browser, userCode);
  const done = await browser.follow(await browser.submit(asked, 'Deny'));
  t.is(done.heading, 'The device was refused');
  for (const _ of [1, 2]) t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'access_denied']);
  const late = await browser.submit(asked, 'Connect');
  t.is(late.status, 422);
  t.regex(late.text, /This code is not open/);
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'access_denied']);
});

test.serial('a poll within the interval is slow_down', async (t) => {
  const { platform, app } = await started();
  const { device_code: code } = await beginOn(platform, app);
  t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'authorization_pending']);
  for (const _ of [1, 2, 3]) t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'slow_down']);
  t.deepEqual(errorOf(await pollLater(platform, app, code)), [400, 'authorization_pending']);
});

test.serial(
  'after its lifetime a code is expired_token for the device and unknown to its user',
  async (t) => {
    const { platform, app } = await started();
    const { device_code: code, user_code: userCode } = await beginOn(platform, app);
    const browser = await signedIn(platform);
    const asked = await enter(platform, browser, userCode);
    passTime(601);
    t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'expired_token']);
    for (const button of ['Connect', 'Deny']) t.is((await browser.submit(asked, button)).status, 422);
    t.is((await enter(platform, browser, userCode)).status, 422);
    await platform.auth.prune();
    t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'expired_token'], 'kept for five minutes');
    passTime(301);
    await platform.auth.prune();
    t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'invalid_grant']);
  },
);

test.serial(
  'a poll that is repeated gets the same refresh token, until it is used or the grace ends',
  async (t) => {
    const { platform, app } = await started();
    const { device_code: code, user_code: userCode } = await beginOn(platform, app);
    await answer(platform, await signedIn(platform), userCode);
    const first = await poll(platform, app, code);
    const again = await pollLater(platform, app, code);
    t.is(again.status, 200);
    t.is(again.body?.['refresh_token'], first.body?.['refresh_token']);
    const refreshed = await exchangeRefreshToken(platform, app, first.body?.['refresh_token']);
    t.is(refreshed.status, 200);
    t.deepEqual(errorOf(await pollLater(platform, app, code)), [400, 'invalid_grant']);
    // The code was not sent through a browser, so its repetition revokes nothing.
    t.is((await platform.api('/identity', refreshed.body.access_token)).status, 200);

    const other = await beginOn(platform, app);
    await answer(platform, await signedIn(platform), other.user_code);
    const { body } = await poll(platform, app, other.device_code);
    passTime(61);
    t.deepEqual(errorOf(await poll(platform, app, other.device_code)), [400, 'invalid_grant']);
    t.is((await platform.api('/identity', String(body?.['access_token']))).status, 200);
  },
);

test.serial('a user who is not signed in enters the code, signs in and confirms the code', async (t) => {
  const { platform, app } = await started();
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const browser = new Browser();
  const login = await browser.follow(await enter(platform, browser, userCode));
  t.is(login.heading, 'Sign in');
  const form = await signIn(browser, login);
  t.regex(form.text, /Continue only if your device or command line shows exactly this code/);
  t.true(form.html.includes(`value="${userCode}"`));
  // In any case and with any separators.
  const [first, last] = userCode.toLowerCase().split('-') as [string, string];
  for (const typed of [first + last, `  ${first} ${last} `, `${first}–${last}`])
    t.is((await enter(platform, browser, typed)).status, 200, typed);
  const asked = await browser.submit(form, 'Continue', { user_code: userCode });
  await browser.submit(asked, 'Connect');
  t.is((await poll(platform, app, code)).status, 200);
});

test.serial('scopes are as in authorization requests', async (t) => {
  const { platform, app } = await started();
  const reader = await registerDevice(platform, { scopes: ['schools:read'] });
  const browser = await signedIn(platform);
  const tokensOf = async (of: typeof app, scope?: string): Promise<Record<string, unknown> | undefined> => {
    const { device_code: code, user_code: userCode } = await beginOn(platform, of, scope ? { scope } : {});
    await answer(platform, browser, userCode);
    return (await poll(platform, of, code)).body;
  };
  t.is((await tokensOf(reader))?.['scope'], 'schools:read', 'the list that it is registered with');
  t.is((await tokensOf(app))?.['scope'], undefined, 'not limited');
  const nothing = await tokensOf(await registerDevice(platform, { scopes: [] }));
  const identity = await platform.api('/identity', String(nothing?.['access_token']));
  t.like(identity.body, { data: { scopes: [], permissions: [] } });
});

test.serial('an optional scope can be declined, but not everything', async (t) => {
  const { platform, app } = await started();
  const browser = await signedIn(platform);
  const scope = 'schools:read schools:write';
  const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope });
  const asked = await enter(platform, browser, userCode);
  t.deepEqual(
    asked.boxesOf('Connect').map(({ isChecked, label }) => [label, isChecked]),
    [['Change your schools', true]],
  );
  const body = new URLSearchParams(asked.hiddenFields());
  t.is((await browser.post(asked.actionOf('Connect'), body)).status, 303);
  t.is((await poll(platform, app, code)).body?.['scope'], 'schools:read');

  const { user_code: other } = await beginOn(platform, app, { scope: 'schools:write' });
  const only = await enter(platform, browser, other);
  const refused = await browser.post(only.actionOf('Connect'), new URLSearchParams(only.hiddenFields()));
  t.is(refused.status, 422);
  t.regex(refused.text, /Leave at least one box checked/);
  const forged = new URLSearchParams({ ...only.hiddenFields(), 'scope-9': 'schools:read' });
  t.is((await browser.post(only.actionOf('Connect'), forged)).status, 422);
});

test.serial('a device connected again is asked about again, with all scopes', async (t) => {
  const { platform, app } = await started();
  const browser = await signedIn(platform);
  for (const _ of [1, 2]) {
    const { user_code: userCode } = await beginOn(platform, app, { scope: 'schools:read' });
    const asked = await enter(platform, browser, userCode);
    t.regex(asked.text, /Connect School CLI on a device\?.*See your schools/);
    await browser.submit(asked, 'Connect');
  }
});

test.serial('a device has no page of authorization', async (t) => {
  const { platform, app } = await started();
  const url = platform.url(`/oauth/authorize?client_id=${app.client.id}&response_type=code&scope=`);
  t.is((await new Browser().open(url)).status, 400);
});

test.serial('parameters of OpenID Connect are unknown ones, which are ignored', async (t) => {
  const { platform, app } = await started();
  t.is((await requestCode(platform, app, { nonce: 'n', max_age: '0', foo: 'bar' })).status, 200);
});
