import test from 'ava';
import * as oauth from 'oauth4webapi';
import * as client from 'openid-client';

import { makeKeyPair } from '../harness/client-keys.ts';
import { startPlatform } from '../harness/platform.ts';
import { completeFlow, SERVERS } from './servers.ts';

const REDIRECT_URI = 'https://reports.example/callback';

for (const [name, mounting] of Object.entries(SERVERS)) {
  test(`openid-client authenticates with a key: ${name}`, async (t) => {
    const { privateKey, publicJwk } = await makeKeyPair('key-1');
    await using platform = await startPlatform({ clients: { keys: true } }, mounting);
    const keys = { jwks: { keys: [publicJwk] } };
    const app = await platform.registerApp({ keys });
    const { client: service } = await platform.auth.clients.create({
      name: 'Nightly',
      grantType: 'client_credentials',
      keys,
    });
    const configurationOf = async (id: string): Promise<client.Configuration> =>
      client.discovery(
        new URL(platform.auth.issuer),
        id,
        undefined,
        client.PrivateKeyJwt({ key: privateKey, kid: 'key-1' }),
        { algorithm: 'oauth2', execute: [client.allowInsecureRequests] },
      );

    const ofService = await configurationOf(service.id);
    const tokens = await client.clientCredentialsGrant(ofService);
    t.like(await client.tokenIntrospection(ofService, tokens.access_token), {
      active: true,
      client_id: service.id,
    });
    await client.tokenRevocation(ofService, tokens.access_token);
    t.false((await client.tokenIntrospection(ofService, tokens.access_token)).active);

    const ofApp = await configurationOf(app.client.id);
    const verifier = client.randomPKCECodeVerifier();
    const state = client.randomState();
    const url = client.buildAuthorizationUrl(ofApp, {
      redirect_uri: REDIRECT_URI,
      state,
      code_challenge: await client.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    });
    const callback = await completeFlow(platform, url);
    const granted = await client.authorizationCodeGrant(ofApp, callback, {
      expectedState: state,
      pkceCodeVerifier: verifier,
    });
    const refreshed = await client.refreshTokenGrant(ofApp, granted.refresh_token!);
    t.like(await client.tokenIntrospection(ofApp, refreshed.access_token), { active: true, sub: '1' });
  });
}

test('oauth4webapi authenticates with a key', async (t) => {
  const { privateKey, publicJwk } = await makeKeyPair('key-1', 'RS256');
  await using platform = await startPlatform({ clients: { keys: true } });
  const app = await platform.registerApp({ keys: { jwks: { keys: [publicJwk] } } });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(platform.origin);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const self: oauth.Client = { client_id: app.client.id };
  const authentication = oauth.PrivateKeyJwt({ key: privateKey, kid: 'key-1' });
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: self.client_id,
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString();
  const callback = oauth.validateAuthResponse(server, self, await completeFlow(platform, url), state);
  const response = await oauth.authorizationCodeGrantRequest(
    server,
    self,
    authentication,
    callback,
    REDIRECT_URI,
    verifier,
    insecure,
  );
  const tokens = await oauth.processAuthorizationCodeResponse(server, self, response);
  t.is(tokens.token_type, 'bearer');
  const again = await oauth.refreshTokenGrantRequest(
    server,
    self,
    authentication,
    tokens.refresh_token!,
    insecure,
  );
  t.is((await oauth.processRefreshTokenResponse(server, self, again)).token_type, 'bearer');
});
