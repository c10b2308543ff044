import test from 'ava';
import * as oauth from 'oauth4webapi';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { signIn, startPlatform } from '../harness/platform.ts';

test('the client learns which of the requested scopes were granted, and asks for another one later', async (t) => {
  await using platform = await startPlatform({
    scopes: {
      'schools:read': { description: 'See your schools', permissions: ['view_schools'] },
      'schools:write': { description: 'Change your schools', permissions: ['edit_schools'], optional: true },
    },
  });
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(platform.origin);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const app = await platform.registerApp();
  const client: oauth.Client = { client_id: app.client.id };
  const authentication = oauth.ClientSecretPost(app.secret);
  const browser = new Browser();
  const scope = 'schools:read schools:write';

  async function tokensWith(answer: (page: Page) => Promise<Page>): Promise<oauth.TokenEndpointResponse> {
    const verifier = oauth.generateRandomCodeVerifier();
    const state = oauth.generateRandomState();
    const url = new URL(server.authorization_endpoint!);
    url.search = new URLSearchParams({
      client_id: app.client.id,
      redirect_uri: app.redirectUri,
      response_type: 'code',
      scope,
      state,
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
    }).toString();
    let page = await browser.open(url);
    if (page.heading === 'Sign in') page = await signIn(browser, page);
    const { location } = await browser.follow(await answer(page));
    const callback = oauth.validateAuthResponse(server, client, location!, state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      authentication,
      callback,
      app.redirectUri,
      verifier,
      insecure,
    );
    return oauth.processAuthorizationCodeResponse(server, client, response);
  }

  const first = await tokensWith(async (page) =>
    browser.post(page.actionOf('Authorize'), new URLSearchParams()),
  );
  t.is(first.scope, 'schools:read');
  const response = await oauth.refreshTokenGrantRequest(
    server,
    client,
    authentication,
    first.refresh_token!,
    insecure,
  );
  t.is((await oauth.processRefreshTokenResponse(server, client, response)).scope, 'schools:read');
  t.is((await tokensWith(async (page) => browser.submit(page, 'Authorize'))).scope, scope);
});
