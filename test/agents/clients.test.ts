import test from '../harness/test.ts';
import { auth } from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';

import { serveExample } from '../examples/served-example.ts';
import { message, post } from '../mcp/agents.ts';
import { Agent } from '../harness/agent.ts';
import { Browser } from '../harness/browser.ts';
import { shared } from '../harness/shared.ts';

/* Clients that others wrote register themselves at the running example server, are authorized, and get tokens. */
const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const ISSUER = announced.base_url;
  const MCP = `${ISSUER}/mcp`;
  const SCHOOLS = `${ISSUER}/api/v1/schools`;
  const user = announced.users.find(({ permissions }) => permissions.length === 1)!;
  return { ISSUER, MCP, SCHOOLS, user };
});

/** A user opens the URL, logs in and authorizes the app of that name. Resolves to the callback. */
async function authorizeAt(url: URL, name: string): Promise<URL> {
  const { user } = await started();
  const browser = new Browser();
  let page = await browser.open(url);
  if (page.html.includes('type="password"')) {
    const { login, password } = user;
    page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
  }
  if (!page.text.includes(name)) throw new Error(`The page does not name the app: ${page.text}`);
  page = await browser.follow(await browser.submit(page, 'Authorize'));
  if (!page.location) throw new Error(`No redirect to the app, but: ${page.text}`);
  return page.location;
}

for (const [kind, redirectUri, metadata] of [
  ['on a device', 'http://localhost:33418/callback', {}],
  ['on a device, public', 'http://127.0.0.1:6274/callback', { token_endpoint_auth_method: 'none' }],
  ['on the web', 'https://agent.example/callback', { token_endpoint_auth_method: 'client_secret_post' }],
] as const) {
  test(`the client of the MCP SDK registers itself ${kind}, is authorized, and refreshes`, async (t) => {
    const { MCP } = await started();
    const agent = new Agent(redirectUri, { metadata: { client_name: 'MCP agent', ...metadata } });
    t.is(await auth(agent, { serverUrl: MCP }), 'REDIRECT');
    t.truthy(agent.registered?.client_id);
    t.is('client_secret' in agent.registered!, kind === 'on the web');
    const callback = await authorizeAt(agent.authorizationUrl!, 'MCP agent');
    const { code, iss } = Object.fromEntries(callback.searchParams);
    t.is(await auth(agent, { serverUrl: MCP, authorizationCode: code!, iss: iss! }), 'AUTHORIZED');
    const claims = decodeJwt(agent.stored!.access_token);
    t.like(claims, { aud: MCP, client_id: agent.registered!.client_id });
    t.regex(String(claims['scope']), /^schools:read\b/);
    const answer = await post({ url: MCP }, agent.stored!.access_token, message('tools/list'));
    t.is(answer.status, 200);
    const { refresh_token: first } = agent.stored!;
    t.is(await auth(agent, { serverUrl: MCP }), 'AUTHORIZED');
    t.not(agent.stored!.refresh_token, first);
  });
}

test('oauth4webapi registers itself, is authorized, and gets a token', async (t) => {
  const { ISSUER, SCHOOLS } = await started();
  const insecure = { [oauth.allowInsecureRequests]: true };
  const issuer = new URL(ISSUER);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const redirectUri = 'https://oauth4webapi.example/callback';
  const client = await oauth.processDynamicClientRegistrationResponse(
    await oauth.dynamicClientRegistrationRequest(
      server,
      { client_name: 'oauth4webapi', redirect_uris: [redirectUri], scope: 'schools:read reports:read' },
      insecure,
    ),
  );
  t.is(client['scope'], 'schools:read', 'the policy has no such scope');
  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  const url = new URL(server.authorization_endpoint!);
  url.search = new URLSearchParams({
    client_id: client.client_id,
    redirect_uri: redirectUri,
    response_type: 'code',
    scope: client['scope'] as string,
    state,
    code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  }).toString();
  const callback = oauth.validateAuthResponse(server, client, await authorizeAt(url, 'oauth4webapi'), state);
  const tokens = await oauth.processAuthorizationCodeResponse(
    server,
    client,
    await oauth.authorizationCodeGrantRequest(
      server,
      client,
      oauth.ClientSecretBasic(client['client_secret'] as string),
      callback,
      redirectUri,
      verifier,
      insecure,
    ),
  );
  t.is(tokens.scope, 'schools:read');
  const answer = await oauth.protectedResourceRequest(
    tokens.access_token,
    'GET',
    new URL(SCHOOLS),
    undefined,
    undefined,
    insecure,
  );
  t.is(answer.status, 200);
});

test('openid-client registers itself, is authorized, and refreshes', async (t) => {
  const { ISSUER } = await started();
  const redirectUri = 'https://openid-client.example/callback';
  const config = await openid.dynamicClientRegistration(
    new URL(ISSUER),
    { client_name: 'openid-client', redirect_uris: [redirectUri], scope: 'profile schools:read' },
    undefined,
    { algorithm: 'oauth2', execute: [openid.allowInsecureRequests] },
  );
  const metadata = config.clientMetadata();
  t.is(metadata['scope'], 'schools:read');
  const verifier = openid.randomPKCECodeVerifier();
  const url = openid.buildAuthorizationUrl(config, {
    redirect_uri: redirectUri,
    scope: 'schools:read',
    code_challenge: await openid.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
  });
  const callback = await authorizeAt(url, 'openid-client');
  const tokens = await openid.authorizationCodeGrant(config, callback, { pkceCodeVerifier: verifier });
  t.is(tokens.scope, 'schools:read');
  const next = await openid.refreshTokenGrant(config, tokens.refresh_token!);
  t.is(next.scope, 'schools:read');
});
