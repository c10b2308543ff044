import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';

import { answer, registerDevice, signedIn, startDevicePlatform } from '../devices/device.ts';
import { around } from '../harness/storage.ts';
import { SERVERS } from './servers.ts';

// The clients wait for the interval before each poll.
const deviceAuthorization = { interval: '1 second' } as const;

for (const [name, mounting] of Object.entries(SERVERS)) {
  for (const confidential of [true, false]) {
    const kind = confidential ? 'confidential' : 'public';
    test(`openid-client, ${kind}: polls until the user has approved: ${name}`, async (t) => {
      const firstPoll = Promise.withResolvers<void>();
      const storage = around(memoryStorage(), async (called, call) => {
        const result = await call();
        if (called === 'deviceCodes.poll') firstPoll.resolve();
        return result;
      });
      await using platform = await startDevicePlatform(
        { clients: { devices: deviceAuthorization }, storage },
        mounting,
      );
      const app = await registerDevice(platform, { confidential });
      const config = await openid.discovery(
        new URL(platform.auth.issuer),
        app.client.id,
        undefined,
        confidential ? openid.ClientSecretBasic(app.secret) : openid.None(),
        { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
      );
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
}

test('openid-client: a user who refuses ends the polling with access_denied', async (t) => {
  await using platform = await startDevicePlatform({ clients: { devices: deviceAuthorization } });
  const app = await registerDevice(platform);
  const config = await openid.discovery(
    new URL(platform.auth.issuer),
    app.client.id,
    undefined,
    openid.None(),
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  const device = await openid.initiateDeviceAuthorization(config, {});
  await answer(platform, await signedIn(platform), device.user_code, 'Deny');
  const error = await t.throwsAsync(openid.pollDeviceAuthorizationGrant(config, device), {
    instanceOf: openid.ResponseBodyError,
  });
  t.like(error, { status: 400, error: 'access_denied' });
});

test('oauth4webapi: authorization_pending, slow_down, tokens and a refresh', async (t) => {
  await using platform = await startDevicePlatform();
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(platform.origin);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const app = await registerDevice(platform);
  const client: oauth.Client = { client_id: app.client.id };
  const started = await oauth.deviceAuthorizationRequest(
    server,
    client,
    oauth.None(),
    { scope: 'schools:read' },
    insecure,
  );
  const device = await oauth.processDeviceAuthorizationResponse(server, client, started);
  const poll = async (): Promise<oauth.TokenEndpointResponse> =>
    oauth.processDeviceCodeResponse(
      server,
      client,
      await oauth.deviceCodeGrantRequest(server, client, oauth.None(), device.device_code, insecure),
    );
  await t.throwsAsync(poll(), { instanceOf: oauth.ResponseBodyError, message: /error/ });
  const early = await t.throwsAsync(poll(), { instanceOf: oauth.ResponseBodyError });
  t.is(early.error, 'slow_down');

  const second = await oauth.processDeviceAuthorizationResponse(
    server,
    client,
    await oauth.deviceAuthorizationRequest(server, client, oauth.None(), {}, insecure),
  );
  await answer(platform, await signedIn(platform), second.user_code);
  const response = await oauth.deviceCodeGrantRequest(
    server,
    client,
    oauth.None(),
    second.device_code,
    insecure,
  );
  const tokens = await oauth.processDeviceCodeResponse(server, client, response);
  const refreshed = await oauth.processRefreshTokenResponse(
    server,
    client,
    await oauth.refreshTokenGrantRequest(server, client, oauth.None(), tokens.refresh_token!, insecure),
  );
  t.truthy(refreshed.refresh_token);
});
