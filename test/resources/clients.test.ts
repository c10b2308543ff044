import test from '../harness/test.ts';
import {
  UnauthorizedError,
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  withOAuth,
} from '@modelcontextprotocol/client';
import { decodeJwt } from 'jose';
import * as oauth from 'oauth4webapi';

import { Agent } from '../harness/agent.ts';
import { Browser } from '../harness/browser.ts';
import { shared } from '../harness/shared.ts';
import { serveExample } from '../examples/served-example.ts';

/*
 * Clients that others wrote ask the running example server for its second API. Each begins with the challenge or the metadata,
 * not with a URL of this server that it knows.
 */
const started = shared(async (stack) => {
  const example = stack.use(await serveExample());
  const { announced } = example;
  const ISSUER = announced.base_url;
  const STATISTICS = `${ISSUER}/statistics`;
  const SCHOOLS = `${STATISTICS}/schools`;
  const {
    client_id: clientId,
    client_secret: clientSecret,
    redirect_uris,
  } = announced.clients.find(({ name }) => name === 'Command line')!;
  const redirectUri = redirect_uris[0]!;
  const service = announced.clients.find(({ name }) => name === 'Nightly import')!;
  return { announced, ISSUER, STATISTICS, SCHOOLS, clientId, clientSecret, redirectUri, service };
});

const ANSWER = { data: { schools: 6, open: 4 } };

/** A user opens the URL, logs in and authorizes the app. Resolves to the text of the consent page, if there is one, and the callback. */
async function authorizeAs(
  { login, password }: { readonly login: string; readonly password: string },
  url: URL,
): Promise<{ callback: URL; consent: string | undefined }> {
  const browser = new Browser();
  let page = await browser.open(url);
  if (page.html.includes('type="password"'))
    page = await browser.follow(await browser.submit(page, 'Sign in', { login, password }));
  const consent = page.html.includes('Authorize</button>') ? page.text : undefined;
  if (consent !== undefined) page = await browser.follow(await browser.submit(page, 'Authorize'));
  return { callback: page.location ?? page.url, consent };
}

test('the client of the MCP SDK follows the challenge to the API, is authorized, and refreshes', async (t) => {
  const { redirectUri, clientId, clientSecret, STATISTICS, SCHOOLS, announced, ISSUER } = await started();
  const agent = new Agent(redirectUri, { registered: { client_id: clientId, client_secret: clientSecret } });
  const fetchWithOAuth = withOAuth(agent, STATISTICS)(fetch);
  await t.throwsAsync(fetchWithOAuth(SCHOOLS), { instanceOf: UnauthorizedError });
  const asked = agent.authorizationUrl!.searchParams;
  t.is(asked.get('resource'), STATISTICS);
  t.is(asked.get('scope'), 'statistics:read');

  const viewer = announced.users.find(({ permissions }) => permissions.length === 1)!;
  const { callback, consent } = await authorizeAs(viewer, agent.authorizationUrl!);
  t.regex(consent!, /Larkfield statistics/);
  const authorizationCode = callback.searchParams.get('code')!;
  const iss = callback.searchParams.get('iss')!;
  t.is(await auth(agent, { serverUrl: STATISTICS, authorizationCode, iss }), 'AUTHORIZED');
  t.like(decodeJwt(agent.stored!.access_token), { aud: STATISTICS, scope: 'statistics:read' });
  t.deepEqual(await (await fetchWithOAuth(SCHOOLS)).json(), ANSWER);

  // A token that is refused is refreshed for the same API.
  agent.stored = { ...agent.stored!, access_token: 'gone' };
  t.deepEqual(await (await fetchWithOAuth(SCHOOLS)).json(), ANSWER);
  t.is(decodeJwt(agent.stored.access_token).aud, STATISTICS);
  const elsewhere = await fetch(`${ISSUER}/api/v1/schools`, {
    headers: { authorization: `Bearer ${agent.stored.access_token}` },
  });
  t.is(elsewhere.status, 401);
});

test('oauth4webapi reads the metadata of the API, and gets a token for it', async (t) => {
  const { STATISTICS, service, SCHOOLS, ISSUER } = await started();
  const insecure = { [oauth.allowInsecureRequests]: true };
  const resource = new URL(STATISTICS);
  const metadata = await oauth.processResourceDiscoveryResponse(
    resource,
    await oauth.resourceDiscoveryRequest(resource, insecure),
  );
  t.deepEqual(metadata.scopes_supported, ['statistics:read']);
  const issuer = new URL(metadata.authorization_servers![0]!);
  const server = await oauth.processDiscoveryResponse(
    issuer,
    await oauth.discoveryRequest(issuer, { algorithm: 'oauth2', ...insecure }),
  );
  const client: oauth.Client = { client_id: service.client_id };
  const request = async (parameters: Record<string, string>): Promise<oauth.TokenEndpointResponse> =>
    oauth.processClientCredentialsResponse(
      server,
      client,
      await oauth.clientCredentialsGrantRequest(
        server,
        client,
        oauth.ClientSecretPost(service.client_secret),
        parameters,
        insecure,
      ),
    );
  const { access_token: token, scope } = await request({
    resource: metadata.resource,
    scope: metadata.scopes_supported![0]!,
  });
  t.is(scope, 'statistics:read');
  const answer = await oauth.protectedResourceRequest(
    token,
    'GET',
    new URL(SCHOOLS),
    undefined,
    undefined,
    insecure,
  );
  t.deepEqual(await answer.json(), ANSWER);

  const refused = await t.throwsAsync(
    oauth.protectedResourceRequest(
      token,
      'GET',
      new URL(`${ISSUER}/api/v1/schools`),
      undefined,
      undefined,
      insecure,
    ),
    { instanceOf: oauth.WWWAuthenticateChallengeError },
  );
  t.like(refused.cause[0]?.parameters, {
    realm: ISSUER,
    error: 'invalid_token',
    scope: 'profile schools:read schools:write',
    resource_metadata: `${ISSUER}/.well-known/oauth-protected-resource`,
  });
  await t.throwsAsync(request({ resource: `${ISSUER}/unknown` }), {
    instanceOf: oauth.ResponseBodyError,
    message: /server responded with an error/,
  });
});

test('the client of the MCP SDK is asked for another scope, and gets a token with both', async (t) => {
  const { redirectUri, clientId, clientSecret, ISSUER, announced } = await started();
  const agent = new Agent(redirectUri, { registered: { client_id: clientId, client_secret: clientSecret } });
  const rename = async (): Promise<Response> =>
    fetch(`${ISSUER}/api/v1/actions/school/harbour/rename-school-action`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${agent.stored?.access_token}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ name: 'Harbour School' }),
    });
  const editor = announced.users.find(({ permissions }) => permissions.includes('edit_schools'))!;
  const connect = async (challenge: Response, scopes?: string): Promise<string | undefined> => {
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(challenge);
    const target = {
      serverUrl: ISSUER,
      resourceMetadataUrl: resourceMetadataUrl!,
      // Else it refreshes, which gives no further scopes.
      forceReauthorization: true,
    };
    t.is(
      await auth(agent, { ...target, scope: scopes ?? computeScopeUnion(agent.stored?.scope, scope)! }),
      'REDIRECT',
    );
    const { callback, consent } = await authorizeAs(editor, agent.authorizationUrl!);
    const { code, iss } = Object.fromEntries(callback.searchParams);
    t.is(await auth(agent, { ...target, authorizationCode: code!, iss: iss! }), 'AUTHORIZED');
    return consent;
  };

  t.regex((await connect(await rename(), 'schools:read'))!, /See your schools/);
  const refused = await rename();
  t.is(refused.status, 403);
  t.like(extractWWWAuthenticateParams(refused), { error: 'insufficient_scope', scope: 'schools:write' });

  const page = await connect(refused);
  t.regex(page!, /Rename your schools/);
  t.like(decodeJwt(agent.stored!.access_token), { scope: 'schools:read schools:write' });
  t.is((await rename()).status, 200);
});
