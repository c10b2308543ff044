import test from '../harness/test.ts';
import { devices } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import * as openid from 'openid-client';

import { answer, registerDevice, startDevicePlatform } from './device.ts';
import { signedIn } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { around } from '../harness/storage.ts';
import { SERVERS } from '../clients/servers.ts';

// The clients wait for the interval before each poll.
const deviceAuthorization = { interval: '1 second' } as const;

async function discover(
  platform: Platform,
  { client, secret }: RegisteredApp,
): Promise<openid.Configuration> {
  const authentication = client.confidential ? openid.ClientSecretBasic(secret) : openid.None();
  return openid.discovery(new URL(platform.auth.issuer), client.id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openid.allowInsecureRequests],
  });
}

for (const [name, confidential] of [
  ['stand-alone, issuer with a path', true],
  ['in an app with other keys', false],
] as const) {
  const kind = confidential ? 'confidential' : 'public';
  test(`openid-client, ${kind}: polls until the user has approved: ${name}`, async (t) => {
    const firstPoll = Promise.withResolvers<void>();
    const storage = around(memoryStorage(), async (called, call) => {
      const result = await call();
      if (called === 'deviceCodes.poll') firstPoll.resolve();
      return result;
    });
    await using platform = await startDevicePlatform(
      { features: [devices(deviceAuthorization)], storage },
      SERVERS[name],
    );
    const config = await discover(platform, await registerDevice(platform, { confidential }));
    const device = await openid.initiateDeviceAuthorization(config, { scope: 'schools:read' });
    t.is(device.interval, 1);
    const polled = openid.pollDeviceAuthorizationGrant(config, device);
    await firstPoll.promise;
    const done = await answer(platform, await signedIn(platform), device.user_code);
    t.is(done.heading, 'Your device is connected');
    const tokens = await polled;
    t.is(tokens.scope, 'schools:read');
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token!);
    t.not(refreshed.access_token, tokens.access_token);
  });
}

test('openid-client: a user who refuses ends the polling with access_denied', async (t) => {
  await using platform = await startDevicePlatform({ features: [devices(deviceAuthorization)] });
  const config = await discover(platform, await registerDevice(platform));
  const device = await openid.initiateDeviceAuthorization(config, {});
  await answer(platform, await signedIn(platform), device.user_code, 'Deny');
  const error = await t.throwsAsync(openid.pollDeviceAuthorizationGrant(config, device), {
    instanceOf: openid.ResponseBodyError,
  });
  t.like(error, { status: 400, error: 'access_denied' });
});
