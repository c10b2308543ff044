import test from '../harness/test.ts';
import { decodeJwt, decodeProtectedHeader } from 'jose';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';

import { SERVERS } from '../clients/servers.ts';
import { Browser } from '../harness/browser.ts';
import { authorizeUrl, completeFlow, startPlatform } from '../harness/platform.ts';

for (const [name, mounting] of Object.entries(SERVERS)) {
  test(`openid-client, by discovery URL, id and secret: ${name}`, async (t) => {
    await using platform = await startPlatform({ openid: true }, mounting);
    const app = await platform.registerApp();
    const config = await client.discovery(
      new URL(platform.auth.issuer),
      app.client.id,
      app.secret,
      undefined,
      // Over http, which is for tests only.
      { execute: [client.allowInsecureRequests] },
    );
    const verifier = client.randomPKCECodeVerifier();
    const nonce = client.randomNonce();
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: app.redirectUri,
      scope: 'openid profile email offline_access',
      nonce,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const tokens = await client.authorizationCodeGrant(
      config,
      await completeFlow(new Browser(platform.reach), url),
      {
        expectedNonce: nonce,
        pkceCodeVerifier: verifier,
        maxAge: 60,
        idTokenExpected: true,
      },
    );
    t.is(tokens.scope, 'openid profile email offline_access');
    const { iss, sub, aud, name: named, email, sid } = tokens.claims()!;
    t.deepEqual(
      [iss, sub, aud, named, email],
      [platform.auth.issuer, '1', app.client.id, 'Ann', 'ann@school.example'],
    );
    t.regex(sid as string, /^[\w-]{43}$/);
    t.like(decodeProtectedHeader(tokens.id_token!), { alg: 'RS256', typ: 'JWT' });
    t.like(decodeProtectedHeader(tokens.access_token), { alg: 'ES256', typ: 'at+jwt' });

    const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token!);
    const again = refreshed.claims()!;
    t.deepEqual(
      [again.sub, again.auth_time, again['sid'], again.nonce],
      ['1', tokens.claims()!.auth_time, sid, undefined],
    );
    t.deepEqual(await client.fetchUserInfo(config, refreshed.access_token, sub), {
      sub: '1',
      name: 'Ann',
      email: 'ann@school.example',
    });
    await client.tokenRevocation(config, refreshed.access_token);
    const refused = await t.throwsAsync(client.fetchUserInfo(config, refreshed.access_token, sub), {
      instanceOf: client.WWWAuthenticateChallengeError,
    });
    t.is(refused.status, 401);
  });
}

test('oauth4webapi checks the ID token, its at_hash and its nonce, of a public client', async (t) => {
  await using platform = await startPlatform({ openid: true }, SERVERS['stand-alone']);
  const app = await platform.registerApp({ confidential: false });
  const issuer = new URL(platform.auth.issuer);
  const insecure = { [oauth.allowInsecureRequests]: true };
  const server = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, insecure));
  const [verifier, nonce, state] = [
    oauth.generateRandomCodeVerifier(),
    oauth.generateRandomNonce(),
    oauth.generateRandomState(),
  ];
  t.is(server.authorization_endpoint, String(platform.url('/oauth/authorize')));
  const url = authorizeUrl(platform, app, {
    scope: 'openid email',
    nonce,
    state,
    max_age: '3600',
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const me = { client_id: app.client.id, require_auth_time: true };
  const callback = oauth.validateAuthResponse(
    server,
    me,
    await completeFlow(new Browser(platform.reach), url),
    state,
  );
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    me,
    oauth.None(),
    callback,
    app.redirectUri,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, me, response, {
    expectedNonce: nonce,
    maxAge: 3600,
    requireIdToken: true,
  });
  await oauth.validateApplicationLevelSignature(server, response, insecure);
  t.truthy(decodeJwt(tokens.id_token!)['at_hash']);
  const info = await oauth.userInfoRequest(server, me, tokens.access_token, insecure);
  t.deepEqual(await oauth.processUserInfoResponse(server, me, '1', info), {
    sub: '1',
    email: 'ann@school.example',
  });
});
