import test from '../harness/test.ts';
import { openid, pushedRequests } from 'koa-gatehouse';
import * as oauth from 'oauth4webapi';
import * as openidClient from 'openid-client';

import { CALLBACK, documentOptions, serveDocument } from '../agents/documents.ts';
import { SERVERS } from '../clients/servers.ts';
import { Browser } from '../harness/browser.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import { pkce } from '../harness/pkce.ts';
import { completeFlow } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { ON_LOOPBACK } from '../harness/public-server.ts';
import { postForm } from '../harness/requests.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { push, pushedUrl, startPushPlatform } from './push.ts';

async function discover(
  platform: Platform,
  { client, secret }: RegisteredApp,
): Promise<openidClient.Configuration> {
  const authentication = client.confidential ? openidClient.ClientSecretBasic(secret) : openidClient.None();
  return openidClient.discovery(new URL(platform.auth.issuer), client.id, undefined, authentication, {
    algorithm: 'oauth2',
    execute: [openidClient.allowInsecureRequests],
  });
}

for (const [name, confidential] of [
  ['stand-alone, issuer with a path', true],
  ['in an app with other keys', false],
] as const)
  test(`openid-client, ${confidential ? 'confidential' : 'public'}: pushes and gets tokens: ${name}`, async (t) => {
    await using platform = await startPushPlatform({ required: true }, {}, SERVERS[name]);
    const app = await platform.registerApp({ confidential });
    const config = await discover(platform, app);
    t.true(config.serverMetadata().require_pushed_authorization_requests);
    const pkceCodeVerifier = openidClient.randomPKCECodeVerifier();
    const expectedState = openidClient.randomState();
    const url = await openidClient.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: app.redirectUri,
      scope: 'schools:read offline_access',
      state: expectedState,
      code_challenge: await openidClient.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    t.deepEqual([...url.searchParams.keys()].toSorted(), ['client_id', 'request_uri']);
    const callback = await completeFlow(new Browser(platform.reach), url);
    const tokens = await openidClient.authorizationCodeGrant(config, callback, {
      pkceCodeVerifier,
      expectedState,
    });
    t.is(tokens.scope, 'schools:read offline_access');
    t.truthy(await openidClient.refreshTokenGrant(config, tokens.refresh_token!));
  });

test('oauth4webapi: pushes and gets tokens', async (t) => {
  await using platform = await startPushPlatform({ required: true });
  const app = await platform.registerApp();
  const issuer = new URL(platform.auth.issuer);
  const insecure = { [oauth.allowInsecureRequests]: true };
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const client: oauth.Client = { client_id: app.client.id };
  const { parameters, verifier } = pkce();
  const request = new URLSearchParams({
    redirect_uri: app.redirectUri,
    response_type: 'code',
    scope: 'schools:read',
    ...parameters,
  });
  const authentication = oauth.ClientSecretPost(app.secret);
  const pushed = await oauth.processPushedAuthorizationResponse(
    server,
    client,
    await oauth.pushedAuthorizationRequest(server, client, authentication, request, insecure),
  );
  t.is(pushed.expires_in, 60);
  const url = new URL(server.authorization_endpoint!);
  url.search = String(new URLSearchParams({ client_id: client.client_id, request_uri: pushed.request_uri }));
  const callback = oauth.validateAuthResponse(server, client, await completeFlow(new Browser(), url));
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      callback,
      app.redirectUri,
      verifier,
      insecure,
    ),
  );
  t.is(tokens.scope, 'schools:read');
});

test('an app by metadata document pushes before anybody has stored it', async (t) => {
  const site = await serveDocument(t);
  const options = documentOptions();
  const features = [...options.features!, pushedRequests({ required: true })];
  await using platform = await startPushPlatform({}, { ...options, features }, ON_LOOPBACK);
  const app = {
    client: { id: site.id, confidential: false },
    secret: '',
    redirectUri: CALLBACK,
  } as RegisteredApp;
  const { parameters, verifier } = pkce();
  const url = await pushedUrl(platform, app, { ...parameters, scope: 'schools:read' });
  const callback = await completeFlow(new Browser(platform.reach), url);
  const code = callback.searchParams.get('code');
  const tokens = await exchangeCode(platform, app, code, { code_verifier: verifier });
  t.is(tokens.body.scope, 'schools:read');
});

test('a client with a key pushes, with an assertion that is used once', async (t) => {
  await using platform = await startPushPlatform({}, { clients: { privateKeyJwt: true } });
  const pair = await makeKeyPair();
  const app = await platform.registerApp({ keys: { jwks: { keys: [pair.publicJwk] } } });
  const authentication = await assertionParameters(app.client.id, platform.auth.issuer, pair);
  const request = {
    client_id: app.client.id,
    response_type: 'code',
    redirect_uri: app.redirectUri,
    ...authentication,
  };
  const pushed = await postForm(platform.url('/oauth/par'), request);
  t.is(pushed.status, 201, pushed.text);
  const again = await postForm(platform.url('/oauth/par'), request);
  t.is(again.status, 401, again.text);
  const other = await assertionParameters(app.client.id, platform.url('/oauth/par').href, pair);
  const ofEndpoint = await postForm(platform.url('/oauth/par'), { ...request, ...other });
  t.is(ofEndpoint.status, 201, ofEndpoint.text);
});

test('OpenID Connect: nonce and claims are pushed', async (t) => {
  await using platform = await startPushPlatform({}, { features: [pushedRequests(), openid()] });
  const app = await platform.registerApp();
  const url = await pushedUrl(platform, app, {
    scope: 'openid',
    nonce: 'n-1',
    claims: JSON.stringify({ id_token: { auth_time: null } }),
    prompt: 'select_account',
  });
  const callback = await completeFlow(new Browser(), url);
  const { body } = await exchangeCode(platform, app, callback.searchParams.get('code'));
  const claims = JSON.parse(Buffer.from(body.id_token!.split('.')[1]!, 'base64url').toString()) as object;
  t.like(claims, { nonce: 'n-1', sub: '1' });
  // Without the scope they are left out, as of a request in a URL.
  t.is((await push(platform, app, { nonce: 'n-2', max_age: '5' })).status, 201);
});
