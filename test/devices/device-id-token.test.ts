import test from '../harness/test.ts';

import { decodeJwt } from 'jose';

import { now } from '../../lib/contracts/clock.ts';
import { signedIn } from '../harness/platform.ts';
import type { Person } from '../harness/platform.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';
import { OPENID } from '../openid/options.ts';
import {
  answer,
  beginOn,
  errorOf,
  pollLater,
  registerDevice,
  requestCode,
  startDevicePlatform,
} from './device.ts';

test.serial('a device that asks who its user is gets an ID token, also with a refresh', async (t) => {
  await using platform = await startDevicePlatform({ openid: OPENID });
  const app = await registerDevice(platform);
  const browser = await signedIn(platform);
  for (const scope of ['openid email', 'openid email schools:read']) {
    const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope, nonce: 'n' });
    await answer(platform, browser, userCode);
    const { body } = await pollLater(platform, app, code);
    t.is(body?.['scope'], scope);
    const claims = decodeJwt(String(body?.['id_token']));
    t.like(claims, { iss: platform.origin, aud: app.client.id, sub: '1' });
    t.true(Number(claims['auth_time']) <= now());
    // Of the login session of the browser, which the device has no part in.
    t.false('sid' in claims);
    t.false('nonce' in claims);
    const userinfo = await fetch(platform.url('/oauth/userinfo'), {
      headers: { authorization: `Bearer ${String(body?.['access_token'])}` },
    });
    t.deepEqual(await userinfo.json(), { sub: '1', email: 'ann@school.example' });
    const refreshed = await exchangeRefreshToken(platform, app, body?.['refresh_token']);
    t.like(decodeJwt(refreshed.body.id_token!), { sub: '1', auth_time: claims['auth_time'] });
  }
});

test.serial(
  'an ID token says nothing of a login at the host whose time the host does not tell',
  async (t) => {
    let hostUser: Person | undefined;
    let at: number | undefined;
    await using platform = await startDevicePlatform({
      openid: OPENID,
      login: { currentUser: () => hostUser, authenticatedAt: () => at },
    });
    const app = await registerDevice(platform);
    const browser = await signedIn(platform);
    [, hostUser] = platform.users.all;
    for (const time of [undefined, 1_700_000_000]) {
      at = time;
      const { device_code: code, user_code: userCode } = await beginOn(platform, app, { scope: 'openid' });
      await answer(platform, browser, userCode);
      const claims = decodeJwt(String((await pollLater(platform, app, code)).body?.['id_token']));
      t.is(claims.sub, '2');
      t.is(claims['auth_time'], time);
    }
  },
);

test('without OpenID Connect, and for a client without the scope, openid is refused', async (t) => {
  await using platform = await startDevicePlatform({ openid: OPENID });
  await using without = await startDevicePlatform();
  const limited = await registerDevice(platform, { scopes: ['schools:read'] });
  for (const [one, app] of [
    [platform, limited],
    [without, await registerDevice(without)],
  ] as const) {
    const refused = await requestCode(one, app, { scope: 'openid' });
    t.deepEqual(errorOf(refused), [400, 'invalid_scope']);
    t.is(refused.body?.['error_description'], 'requested scope is not allowed: openid');
  }
});
