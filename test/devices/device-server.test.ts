import { text } from 'node:stream/consumers';

import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { signedIn, startPlatform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { around, breakable } from '../harness/storage.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
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
import { ClientInvalidError } from '../../lib/errors.ts';

const METADATA = '/.well-known/oauth-authorization-server';
const API = 'https://api.example/v1';

function grantTypesOf(metadata: Readonly<Record<string, unknown>> = {}): readonly unknown[] {
  return metadata['grant_types_supported'] as readonly unknown[];
}

test.serial(
  'the metadata announces the endpoint and the grant type, below the path of the issuer',
  async (t) => {
    await using platform = await startDevicePlatform({}, { path: '/auth' });
    const { body } = await send(platform.url(METADATA));
    t.is(body?.['device_authorization_endpoint'], platform.url('/oauth/device_authorization').href);
    t.true(grantTypesOf(body).includes(DEVICE_GRANT));
    const app = await registerDevice(platform);
    const device = await beginOn(platform, app);
    t.is(device.verification_uri, platform.url('/oauth/device').href);
    await answer(platform, await signedIn(platform), device.user_code);
    t.is((await poll(platform, app, device.device_code)).status, 200);
  },
);

test.serial('without the option nothing is there: the host has the paths, with unread bodies', async (t) => {
  const names: string[] = [];
  const storage = around(memoryStorage(), async (name, call) => {
    names.push(name);
    return call();
  });
  await using platform = await startPlatform(
    { storage },
    {
      behind: [
        async (ctx) => {
          ctx.body = { host: ctx.path, body: await text(ctx.req) };
        },
      ],
    },
  );
  names.length = 0;
  for (const path of ['/oauth/device', '/oauth/device_authorization', '/oauth/device/approve']) {
    const { body } = await postForm(platform.url(path), { user_code: 'WDJB-MJHT' });
    t.deepEqual(body, { host: path, body: 'user_code=WDJB-MJHT' });
  }
  t.deepEqual(names, []);
  const { body } = await send(platform.url(METADATA));
  t.is(body?.['device_authorization_endpoint'], undefined);
  t.false(grantTypesOf(body).includes(DEVICE_GRANT));
  const refused = await poll(platform, await platform.registerApp(), 'any');
  t.deepEqual(errorOf(refused), [400, 'unsupported_grant_type']);
  const error = await t.throwsAsync(registerDevice(platform), { instanceOf: ClientInvalidError });
  t.is(error.fields[0]?.code, 'grant_type_off');
});

test.serial('when the option is removed, devices refresh their tokens but get no new ones', async (t) => {
  const storage = memoryStorage();
  await using before = await startDevicePlatform({ storage });
  const app = await registerDevice(before);
  const { device_code: code, user_code: userCode } = await beginOn(before, app);
  await answer(before, await signedIn(before), userCode);
  const { body } = await poll(before, app, code);
  await using after = await startPlatform({ storage, issuer: before.origin, users: before.users });
  t.is((await exchangeRefreshToken(after, app, body?.['refresh_token'])).status, 200);
  t.deepEqual(errorOf(await poll(after, app, code)), [400, 'unsupported_grant_type']);
  t.is((await after.auth.clients.update(app.client.id, { name: 'Renamed' })).name, 'Renamed');
});

test.serial('pages of the host that have no page for codes leave the path to the host', async (t) => {
  await using platform = await startDevicePlatform({
    interactions: () => ({ middleware: (_ctx, next) => next(), async error() {} }),
  });
  t.is((await send(platform.url('/oauth/device/abc'))).status, 404);
});

test.serial('lifetime and interval are options', async (t) => {
  await using platform = await startDevicePlatform({
    features: [devices({ lifetime: '2 minutes', interval: 30 })],
  });
  const app = await registerDevice(platform);
  const { device_code: code, expires_in: lifetime, interval } = await beginOn(platform, app);
  t.deepEqual([lifetime, interval], [120, 30]);
  await poll(platform, app, code);
  t.is(errorOf(await pollLater(platform, app, code))[1], 'slow_down');
  passTime(25);
  t.is(errorOf(await poll(platform, app, code))[1], 'authorization_pending');
  passTime(90);
  t.is(errorOf(await poll(platform, app, code))[1], 'expired_token');
});

test.serial('a device gets a token for another API, which the page names, and only for that', async (t) => {
  const scopes = { read: { description: 'Read documents', permissions: ['view_schools'] } } as const;
  await using platform = await startDevicePlatform({ resources: { [API]: { name: 'Documents', scopes } } });
  const app = await registerDevice(platform);
  const wrong = await requestCode(platform, app, { resource: 'https://other.example' });
  t.deepEqual(errorOf(wrong), [400, 'invalid_target']);
  const beyond = await requestCode(platform, app, { resource: API, scope: 'schools:read' });
  t.deepEqual(errorOf(beyond), [400, 'invalid_scope']);
  // An equivalent URL is the same API (RFC 3986 section 6.2.3).
  const resource = 'HTTPS://api.example/v1';
  const { device_code: code, user_code: userCode } = await beginOn(platform, app, {
    resource,
    scope: 'read',
  });
  const browser = await signedIn(platform);
  const asked = await enter(platform, browser, userCode);
  t.regex(asked.text, /Read documents Access to Documents/);
  await browser.submit(asked, 'Connect');
  const other = await poll(platform, app, code, { resource: platform.auth.issuer });
  t.deepEqual(errorOf(other), [400, 'invalid_target']);
  t.regex(String(other.body?.['error_description']), /^this was granted for another resource/);
  const { body } = await pollLater(platform, app, code, { resource: API });
  t.is(body?.['scope'], 'read');
  t.is((await platform.api('/identity', String(body?.['access_token']))).status, 401);
  const refreshed = await exchangeRefreshToken(platform, app, body?.['refresh_token']);
  t.is(refreshed.body.scope, 'read');
  const connected = await browser.open(platform.url('/account/apps'));
  t.regex(connected.text, /Documents.*1 connection: node, 127\.0\.0\.1 since/);
});

test.serial(
  'scopes that the client may no longer request are in no token, and leave none without scopes',
  async (t) => {
    await using platform = await startDevicePlatform();
    const app = await registerDevice(platform, { scopes: ['schools:read', 'schools:write'] });
    const { device_code: code, user_code: userCode } = await beginOn(platform, app, {
      scope: 'schools:read',
    });
    await answer(platform, await signedIn(platform), userCode);
    await platform.auth.clients.update(app.client.id, { scopes: ['schools:write'] });
    t.deepEqual(errorOf(await poll(platform, app, code)), [400, 'invalid_scope']);
    await platform.auth.clients.update(app.client.id, { scopes: ['schools:read'] });
    t.is((await pollLater(platform, app, code)).body?.['scope'], 'schools:read', 'the code was not spent');
  },
);

test.serial('answers, wrong codes and refused requests are recorded; polls are not', async (t) => {
  await using platform = await startDevicePlatform();
  const app = await registerDevice(platform);
  const browser = await signedIn(platform);
  const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope: 'schools:read' });
  await poll(platform, app, code);
  await poll(platform, app, code);
  await enter(platform, browser, 'ZZZZ-ZZZZ');
  await answer(platform, browser, userCode);
  await pollLater(platform, app, code);
  const { user_code: other } = await beginOn(platform, app);
  await answer(platform, browser, other, 'Deny');
  await requestCode(platform, app, { scope: 'nonsense' });
  const records = (await platform.auth.audit.list()).toReversed();
  t.deepEqual(
    records.map(({ type }) => type),
    [
      'client_created',
      'login',
      'user_code_refused',
      'device_authorized',
      'token_issued',
      'device_denied',
      'authorization_refused',
    ],
  );
  const address = records[1]?.address;
  const about = { userId: '1', clientId: app.client.id };
  t.like(records[2], { userId: '1', address });
  like(t, records[3], { ...about, scopes: ['schools:read'], deviceAddress: address, address });
  t.like(records[4], { ...about, grantType: DEVICE_GRANT });
  t.like(records[5], { ...about, scopes: [], deviceAddress: address });
  t.like(records[6], { clientId: app.client.id, error: 'invalid_scope' });
  const everything = JSON.stringify([records, platform.logger.lines]);
  for (const secret of [code, userCode, other, userCode.replace('-', '')])
    t.false(everything.includes(secret));
});

test.serial(
  'fields that a device does not have are refused, and auth.issueToken() needs its user',
  async (t) => {
    await using platform = await startDevicePlatform();
    for (const [field, value] of [
      ['redirectUris', ['https://app.example/callback']],
      ['native', true],
      ['firstParty', true],
      ['permissions', ['view_schools']],
    ] as const) {
      const error = await t.throwsAsync(registerDevice(platform, { [field]: value }), {
        instanceOf: ClientInvalidError,
      });
      t.is(error.fields[0]?.field, field);
    }
    const { client } = await registerDevice(platform, { lifetimes: { refreshToken: '1 day' } });
    t.is(client.lifetimes.refreshToken, 86_400);

    const token = await platform.auth.issueToken({ clientId: client.id, userId: '1' });
    t.is((await platform.api('/identity', token)).status, 200);
    await t.throwsAsync(platform.auth.issueToken({ clientId: client.id }), {
      message: /acts for users only \(grant type device_code\)/,
    });
  },
);

test.serial(
  'a code from before the cookie keys changed can still be entered, and a device of the platform itself is asked about too',
  async (t) => {
    const [old, recent] = ['a'.repeat(32), 'b'.repeat(32)];
    const storage = memoryStorage();
    await using before = await startDevicePlatform({ storage, secrets: { cookieKeys: [old] } });
    const app = await registerDevice(before);
    // The registry refuses it; a row may say so nevertheless.
    await storage.clients.update({ ...app.client, firstParty: true });
    const { device_code: code, user_code: userCode } = await beginOn(before, app);
    const { origin: issuer, users } = before;
    await using after = await startDevicePlatform({
      storage,
      issuer,
      users,
      secrets: { cookieKeys: [recent, old] },
    });
    const browser = await signedIn(after);
    const asked = await enter(after, browser, userCode);
    t.is(asked.heading, 'Connect School CLI on a device?', 'the user is asked');
    await browser.submit(asked, 'Connect');
    t.is((await poll(after, app, code)).status, 200);
  },
);

test.serial('when the storage fails, both endpoints answer 503, and the page says so', async (t) => {
  const { broken, storage } = breakable();
  await using platform = await startDevicePlatform({ storage });
  const app = await registerDevice(platform);
  const { device_code: code, user_code: userCode } = await beginOn(platform, app);
  const browser = await signedIn(platform);
  broken.add('deviceCodes');
  for (const refused of [await requestCode(platform, app), await poll(platform, app, code)]) {
    t.deepEqual(errorOf(refused), [503, 'temporarily_unavailable']);
    t.is(refused.headers.get('retry-after'), '1');
  }
  t.is((await enter(platform, browser, userCode)).status, 503);
  broken.clear();
  t.is((await enter(platform, browser, userCode)).status, 200);
  t.is((await new Browser().open(platform.url('/oauth/device'))).status, 200);
});
