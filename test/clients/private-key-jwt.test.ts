import test from '../harness/test.ts';
import * as client from 'openid-client';

import { makeKeyPair } from '../harness/client-keys.ts';
import { Browser } from '../harness/browser.ts';
import { completeFlow, startPlatform } from '../harness/platform.ts';
import { SERVERS } from './servers.ts';

const REDIRECT_URI = 'https://reports.example/callback';

for (const name of ['in an app with other keys', 'stand-alone, issuer with a path']) {
  test(`openid-client authenticates with a key: ${name}`, async (t) => {
    const { privateKey, publicJwk } = await makeKeyPair('key-1');
    await using platform = await startPlatform({ clients: { privateKeyJwt: true } }, SERVERS[name]);
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
    const callback = await completeFlow(new Browser(platform.reach), url);
    const granted = await client.authorizationCodeGrant(ofApp, callback, {
      expectedState: state,
      pkceCodeVerifier: verifier,
    });
    const refreshed = await client.refreshTokenGrant(ofApp, granted.refresh_token!);
    t.like(await client.tokenIntrospection(ofApp, refreshed.access_token), { active: true, sub: '1' });
  });
}
