import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import * as client from 'openid-client';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { completeFlow, signIn, startPlatform } from '../harness/platform.ts';
import type { Platform, RegisteredApp } from '../harness/platform.ts';
import { SERVERS } from './servers.ts';

type Method = 'secret in the body' | 'secret by HTTP Basic' | 'no secret';

/** Discovers the server as the documentation of the client describes. */
async function discover(
  platform: Platform,
  app: RegisteredApp,
  method: Method = 'secret in the body',
): Promise<client.Configuration> {
  const authentication = {
    'secret in the body': client.ClientSecretPost,
    'secret by HTTP Basic': client.ClientSecretBasic,
    'no secret': client.None,
  };
  return client.discovery(
    new URL(platform.auth.issuer),
    app.client.id,
    undefined,
    authentication[method](app.secret),
    {
      algorithm: 'oauth2',
      // Over http, which is for tests only.
      execute: [client.allowInsecureRequests],
    },
  );
}

for (const [name, mounting] of Object.entries(SERVERS)) {
  // Each method on one server: how another one is mounted makes a difference to paths and to the parsing of bodies only.
  const [ofApp, ofService]: readonly [readonly Method[], readonly Method[]] =
    name === 'in an app with other keys'
      ? [
          ['secret in the body', 'secret by HTTP Basic', 'no secret'],
          ['secret in the body', 'secret by HTTP Basic'],
        ]
      : [['secret in the body'], ['secret by HTTP Basic']];
  test(`discovery, code flow with PKCE, refresh, revocation and client credentials: ${name}`, async (t) => {
    await using platform = await startPlatform({}, mounting);
    const { issuer } = platform.auth;
    for (const method of ofApp) {
      const app = await platform.registerApp({ confidential: method !== 'no secret' });
      const config = await discover(platform, app, method);
      const server = config.serverMetadata();
      t.like(server, { issuer, authorization_response_iss_parameter_supported: true });
      t.true(server.supportsPKCE());
      t.deepEqual(server.scopes_supported, ['schools:read', 'offline_access']);
      const { tokens, callback } = await authorize(t, platform, config, app, 'schools:read');
      t.deepEqual([...callback.searchParams.keys()].toSorted(), ['code', 'iss', 'state']);
      t.like(tokens, { token_type: 'bearer', expires_in: 31_536_000, scope: 'schools:read' });
      t.is(tokens.id_token, undefined);
      const refreshed = await client.refreshTokenGrant(config, tokens.refresh_token!);
      t.not(refreshed.access_token, tokens.access_token);
      t.not(refreshed.refresh_token, tokens.refresh_token);
      if (method !== 'no secret') {
        const known = await client.tokenIntrospection(config, refreshed.access_token);
        const holder = { client_id: app.client.id, sub: '1', scope: 'schools:read' };
        t.like(known, { active: true, iss: issuer, ...holder });
        await client.tokenRevocation(config, refreshed.access_token);
        t.false((await client.tokenIntrospection(config, refreshed.access_token)).active);
      }
      await client.tokenRevocation(config, refreshed.refresh_token!);
      const refused = await t.throwsAsync(client.refreshTokenGrant(config, refreshed.refresh_token!), {
        instanceOf: client.ResponseBodyError,
      });
      t.like(refused, { status: 400, error: 'invalid_grant', error_description: 'grant request is invalid' });
    }

    const service = await platform.registerService(['view_schools']);
    for (const method of ofService) {
      const config = await discover(platform, service, method);
      const tokens = await client.clientCredentialsGrant(config);
      t.like(tokens, { expires_in: 31_536_000, refresh_token: undefined, scope: undefined });
      t.like(await client.tokenIntrospection(config, tokens.access_token), {
        active: true,
        client_id: service.client.id,
      });
      const scoped = await client.clientCredentialsGrant(config, { scope: 'schools:read' });
      t.is(scoped.scope, 'schools:read');
      await client.tokenRevocation(config, tokens.access_token);
      t.false((await client.tokenIntrospection(config, tokens.access_token)).active);
      t.true((await client.tokenIntrospection(config, scoped.access_token)).active);
    }
  });
}

test('the API accepts the tokens, and challenges after their revocation', async (t) => {
  await using platform = await startPlatform({}, SERVERS['in an app without keys, issuer with a path']);
  const app = await platform.registerApp();
  const config = await discover(platform, app);
  const { tokens } = await authorize(t, platform, config, app);
  const call = async (): Promise<Response> =>
    client.fetchProtectedResource(config, tokens.access_token, platform.url('/api/v1/identity'), 'GET');
  t.like(await (await call()).json(), {
    data: { type: 'user', id: '1', name: 'Ann', client_id: app.client.id },
  });
  await client.tokenRevocation(config, tokens.access_token);
  const refused = await t.throwsAsync(call(), { instanceOf: client.WWWAuthenticateChallengeError });
  t.is(refused.status, 401);
  t.like(refused.cause[0], {
    scheme: 'bearer',
    parameters: {
      realm: platform.auth.issuer,
      error: 'invalid_token',
      error_description: 'The access token was revoked.',
    },
  });
});

test('the client learns which of the requested scopes were granted, and asks for another one later', async (t) => {
  const scopes = {
    'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
    'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
  } as const;
  await using platform = await startPlatform({ scopes }, SERVERS['stand-alone']);
  const app = await platform.registerApp();
  const config = await discover(platform, app);
  const browser = new Browser(platform.reach);
  const scope = 'schools:read schools:write';
  const tokensWith = async (answer: (page: Page) => Promise<Page>): Promise<client.TokenEndpointResponse> => {
    const expectedState = client.randomState();
    const parameters = { redirect_uri: app.redirectUri, scope, state: expectedState };
    let page = await browser.open(client.buildAuthorizationUrl(config, parameters));
    if (page.heading === 'Sign in') page = await signIn(browser, page);
    const { location } = await browser.follow(await answer(page));
    return client.authorizationCodeGrant(config, location!, { expectedState });
  };

  const first = await tokensWith(async (page) =>
    browser.post(page.actionOf('Authorize'), new URLSearchParams()),
  );
  t.is(first.scope, 'schools:read');
  const refreshed = await client.refreshTokenGrant(config, first.refresh_token!);
  t.is(refreshed.scope, 'schools:read');
  t.is((await client.tokenIntrospection(config, refreshed.access_token)).scope, 'schools:read');

  const more = await tokensWith(async (page) => browser.submit(page, 'Authorize'));
  t.is(more.scope, scope);
  t.is((await client.tokenIntrospection(config, more.access_token)).scope, scope);
});

async function authorize(
  t: ExecutionContext,
  platform: Platform,
  config: client.Configuration,
  app: RegisteredApp,
  scope = '',
): Promise<{ tokens: Awaited<ReturnType<typeof client.authorizationCodeGrant>>; callback: URL }> {
  const pkceCodeVerifier = client.randomPKCECodeVerifier();
  const expectedState = client.randomState();
  const url = client.buildAuthorizationUrl(config, {
    redirect_uri: app.redirectUri,
    scope,
    state: expectedState,
    code_challenge: await client.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
  });
  t.is(url.origin, platform.origin);
  const callback = await completeFlow(new Browser(platform.reach), url);
  const tokens = await client.authorizationCodeGrant(config, callback, { expectedState, pkceCodeVerifier });
  return { tokens, callback };
}
