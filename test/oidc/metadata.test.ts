import * as mcp from '@modelcontextprotocol/client';
import test from '../harness/test.ts';
import { agents, devices } from 'koa-gatehouse';
import * as oauth from 'oauth4webapi';

import { like } from '../harness/like.ts';
import { authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { asClient } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform());
  const below = stack.use(await startPlatform({}, { path: '/auth' }));
  const app = await platform.registerApp({ firstParty: true });
  return { platform, below, app };
});

const DOCUMENT = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';
const RESOURCE = '/.well-known/oauth-protected-resource';

function documentOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    jwks_uri: `${issuer}/oauth/jwks`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment', 'form_post'],
    grant_types_supported: ['authorization_code', 'client_credentials', 'refresh_token'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    revocation_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post', 'none'],
    introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'client_secret_post'],
    authorization_response_iss_parameter_supported: true,
    scopes_supported: ['schools:read', 'offline_access'],
  };
}

function sorted(document: object | undefined): object {
  const { grant_types_supported: grants = [], ...rest } = document as { grant_types_supported?: string[] };
  return { ...rest, grant_types_supported: grants.toSorted() };
}

test('the metadata of the server is correct', async (t) => {
  const { platform } = await started();
  const { status, body, headers } = await send(platform.origin + DOCUMENT);
  t.is(status, 200);
  t.deepEqual(sorted(body), documentOf(platform.origin));
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  t.is((await send(platform.origin + DOCUMENT, { method: 'HEAD' })).status, 200);
  for (const path of [OPENID, `${OPENID}/`, '/.WELL-KNOWN/openid-configuration', RESOURCE])
    t.is((await send(platform.origin + path)).status, 404, 'without OpenID Connect and resources');
});

test('the metadata fits the schemas of clients', async (t) => {
  let origin = '';
  await using server = await startPlatform(
    {
      clients: { privateKeyJwt: true },
      features: [agents({ registration: { scopes: [] }, documents: { scopes: [] } }), devices()],
      get resources() {
        return { [`${origin}/auth/mcp`]: { name: 'Schools for agents' } };
      },
    },
    { path: '/auth', inFront: (listening) => (origin = listening) },
  );
  const { issuer } = server.auth;
  const found = await mcp.discoverAuthorizationServerMetadata(issuer);
  t.like(found, { issuer, client_id_metadata_document_supported: true });
  const api = await mcp.discoverOAuthProtectedResourceMetadata(`${issuer}/mcp`);
  like(t, api, { resource: `${issuer}/mcp`, authorization_servers: [issuer] });

  const insecure = { [oauth.allowInsecureRequests]: true };
  const response = await oauth.discoveryRequest(new URL(issuer), { ...insecure, algorithm: 'oauth2' });
  t.is((await oauth.processDiscoveryResponse(new URL(issuer), response)).issuer, issuer);
  const resource = new URL(`${issuer}/mcp`);
  const ofApi = await oauth.resourceDiscoveryRequest(resource, insecure);
  t.like(await oauth.processResourceDiscoveryResponse(resource, ofApi), { resource: resource.href });
});

test('each endpoint of the metadata exists', async (t) => {
  const { platform, app } = await started();
  const { body } = await send(platform.origin + DOCUMENT);
  for (const [name, url] of Object.entries(body!)) {
    if (!/_endpoint$|^jwks_uri$/.test(name)) continue;
    const { status } = await send(url as string);
    t.true([200, 400, 405].includes(status), `${name} ${status}`);
  }
  const tokens = await runCodeFlow(platform, app);
  const fields = { ...asClient(app), token: tokens.body.access_token };
  for (const name of ['introspection_endpoint', 'revocation_endpoint'])
    t.is((await postForm(body![name] as string, fields)).status, 200);
});

test('for an issuer with a path the well-known part is inserted before it (RFC 8414 section 3.1)', async (t) => {
  const { below } = await started();
  for (const path of [`${DOCUMENT}/auth`, `/auth${DOCUMENT}`]) {
    const { status, body } = await send(below.origin + path);
    t.is(status, 200, path);
    t.deepEqual(sorted(body), documentOf(`${below.origin}/auth`), path);
  }
  for (const path of [
    DOCUMENT,
    OPENID,
    // Where clients look for OpenID Connect first.
    `${OPENID}/auth`,
    `/auth${OPENID}`,
    `${DOCUMENT}/other`,
    `${DOCUMENT}/auth/other`,
    `${DOCUMENT}/authother`,
    '/oauth/token',
    '/oauth/authorize',
    '/authother/oauth/token',
  ])
    t.is((await send(below.origin + path)).status, 404, path);
});

/** The answer to the lines of a request. */
async function answerTo(...lines: readonly string[]): Promise<RawResponse> {
  const { platform } = await started();
  const connection = await RawConnection.open(platform.origin);
  connection.write(`${lines.join('\r\n')}\r\n\r\n`);
  const answer = await connection.answer();
  connection.close();
  return answer;
}

test('the Host header does not change URLs, and causes no 5xx', async (t) => {
  const { platform, app } = await started();
  const authorize = `/oauth/authorize${authorizeUrl(platform, app).search}`;
  const forwarded = [
    'X-Forwarded-Host: evil.example',
    'X-Forwarded-Proto: https',
    'Forwarded: host=evil.example',
  ];
  for (const host of [
    'evil.example',
    'EVIL.example:443',
    '%00',
    '"><script>',
    '[::1',
    'a@b',
    '\\',
    '//evil.example',
    ':99999999',
    '',
    'x'.repeat(4000),
    '\u00e4',
  ]) {
    for (const path of [
      DOCUMENT,
      '/oauth/jwks',
      authorize,
      '/oauth/authorize?client_id=unknown',
      '/oauth/interaction/nothing',
      '/oauth/logout',
      '/oauth/token',
      '/api/v1/identity',
    ]) {
      const lines = [`GET ${path} HTTP/1.1`, `Host: ${host}`, ...forwarded, 'Referer: https://evil.example/'];
      const { status, headers, body } = await answerTo(...lines, 'Connection: close');
      t.true(status < 500, `${host} ${path}: ${status}`);
      t.false(`${body}${[...headers.values()].join(' ')}`.toLowerCase().includes('evil.'), `${host} ${path}`);
      if (status === 303) t.regex(headers.get('location')!, new RegExp(`^(${platform.origin})?/`));
      if (path === DOCUMENT && status === 200) t.is(JSON.parse(body).issuer, platform.origin);
    }
  }
  const absolute = await answerTo(`GET http://evil.example${DOCUMENT} HTTP/1.1`, 'Host: evil.example');
  t.true(absolute.status < 500);
  t.false(absolute.body.includes('evil'));
  for (const path of [DOCUMENT, authorize, '/oauth/logout'])
    t.true((await answerTo(`GET ${path} HTTP/1.0`)).status < 500, path);
});
