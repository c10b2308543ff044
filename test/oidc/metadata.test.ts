import * as mcp from '@modelcontextprotocol/client';
import test from 'ava';
import * as oauth from 'oauth4webapi';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { asClient } from '../harness/tokens.ts';

const platform = await startPlatform();
const below = await startPlatform({}, { path: '/auth' });
const app = await platform.registerApp({ firstParty: true });
test.after.always(() => Promise.all([platform, below].map((one) => one[Symbol.asyncDispose]())));

const DOCUMENT = '/.well-known/oauth-authorization-server';
const OPENID = '/.well-known/openid-configuration';

function documentOf(issuer: string): object {
  return {
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    introspection_endpoint: `${issuer}/oauth/introspect`,
    jwks_uri: `${issuer}/oauth/jwks`,
    response_types_supported: ['code'],
    response_modes_supported: ['query', 'fragment'],
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
  return Object.fromEntries(
    Object.entries(document ?? {}).map(([name, value]) => [
      name,
      name === 'grant_types_supported' ? (value as string[]).toSorted() : value,
    ]),
  );
}

test('the metadata of the server is correct', async (t) => {
  const { status, body, headers } = await send(platform.origin + DOCUMENT);
  t.is(status, 200);
  t.deepEqual(sorted(body), documentOf(platform.origin));
  t.is(headers.get('content-type'), 'application/json; charset=utf-8');
  t.is(headers.get('access-control-allow-origin'), '*');
  t.is((await send(platform.origin + DOCUMENT, { method: 'HEAD' })).status, 200);
});

test('a server without OpenID Connect has no metadata of an OpenID provider', async (t) => {
  for (const path of [OPENID, `${OPENID}/`, '/.WELL-KNOWN/openid-configuration'])
    t.is((await send(platform.origin + path)).status, 404, path);
  for (const path of [OPENID, `${OPENID}/auth`, `/auth${OPENID}`])
    t.is((await send(below.origin + path)).status, 404, path);
});

for (const path of ['', '/auth']) {
  test(`the metadata fits the schemas of clients: ${path || 'no path'}`, async (t) => {
    let origin = '';
    await using server = await startPlatform(
      {
        clients: {
          devices: true,
          keys: true,
          registration: { scopes: [] },
          documents: { allow: () => true, scopes: [] },
        },
        get resources() {
          return { [`${origin}${path}/mcp`]: { name: 'Schools for agents' } };
        },
      },
      { path, inFront: (listening) => (origin = listening) },
    );
    const { issuer } = server.auth;
    const found = await mcp.discoverAuthorizationServerMetadata(issuer);
    t.like(found, { issuer, client_id_metadata_document_supported: true });
    const api = await mcp.discoverOAuthProtectedResourceMetadata(`${issuer}/mcp`);
    t.like(api, { resource: `${issuer}/mcp`, authorization_servers: [issuer] });

    const insecure = { [oauth.allowInsecureRequests]: true };
    const response = await oauth.discoveryRequest(new URL(issuer), { ...insecure, algorithm: 'oauth2' });
    t.is((await oauth.processDiscoveryResponse(new URL(issuer), response)).issuer, issuer);
    const resource = new URL(`${issuer}/mcp`);
    const ofApi = await oauth.resourceDiscoveryRequest(resource, insecure);
    t.like(await oauth.processResourceDiscoveryResponse(resource, ofApi), { resource: resource.href });
  });
}

test('a client that looks for OpenID first takes the metadata of RFC 8414', async (t) => {
  const asked: string[] = [];
  const issuer = new URL(`${below.origin}/auth`);
  for (const url of [OPENID + issuer.pathname, issuer.pathname + OPENID, DOCUMENT + issuer.pathname]) {
    const response = await fetch(new URL(url, issuer));
    asked.push(`${response.status} ${url}`);
    if (response.ok) t.like(await oauth.processDiscoveryResponse(issuer, response), { issuer: issuer.href });
    else await response.body?.cancel();
  }
  t.deepEqual(asked, [`404 ${OPENID}/auth`, `404 /auth${OPENID}`, `200 ${DOCUMENT}/auth`]);
});

test('each endpoint of the metadata exists', async (t) => {
  const { body } = await send(platform.origin + DOCUMENT);
  for (const [name, url] of Object.entries(body!)) {
    if (!/_endpoint$|^jwks_uri$/.test(name)) continue;
    const answer = await send(url as string);
    t.true([200, 400, 405].includes(answer.status), `${name} ${answer.status}`);
  }
  const tokens = await runCodeFlow(platform, app);
  for (const auth of [asClient(app)]) {
    const fields = { ...auth, token: tokens.body.access_token };
    t.is((await postForm(body!['introspection_endpoint'] as string, fields)).status, 200);
    t.is((await postForm(body!['revocation_endpoint'] as string, fields)).status, 200);
  }
});

test('the keys can be read from any origin', async (t) => {
  const { status, body, headers } = await send(`${platform.origin}/oauth/jwks`);
  t.is(status, 200);
  t.is((body as { keys: object[] }).keys.length, 1);
  t.regex(headers.get('content-type')!, /^application\/(jwk-set\+)?json/);
  t.is(headers.get('access-control-allow-origin'), '*');
});

test('for an issuer with a path the well-known part is inserted before it (RFC 8414 section 3.1)', async (t) => {
  const issuer = `${below.origin}/auth`;
  for (const path of [
    '/.well-known/oauth-authorization-server/auth',
    '/auth/.well-known/oauth-authorization-server',
  ]) {
    const { status, body } = await send(below.origin + path);
    t.is(status, 200, path);
    t.deepEqual(sorted(body), documentOf(issuer), path);
  }
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/other',
    '/.well-known/oauth-authorization-server/auth/other',
    '/.well-known/oauth-authorization-server/authother',
    '/oauth/token',
    '/oauth/authorize',
    '/authother/oauth/token',
  ]) {
    t.is((await send(below.origin + path)).status, 404, path);
  }
});

test('all URLs and cookies of an issuer with a path have the path', async (t) => {
  const one = await below.registerApp();
  const browser = new Browser();
  const start = await browser.get(authorizeUrl(below, one));
  t.regex(start.location!.pathname, /^\/auth\/oauth\/interaction\//);
  for (const { path, name } of browser.cookies) t.true(path === '/auth' || path.startsWith('/auth/'), name);
  const callback = await authorize(below, one, { browser });
  t.is(callback.get('iss'), `${below.origin}/auth`);
  t.truthy(callback.get('code'));
  for (const { path, name } of browser.cookies) t.true(path === '/auth' || path.startsWith('/auth/'), name);
  const { body } = await runCodeFlow(below, one, { browser });
  t.is((await send(`${below.origin}/auth/oauth/token`, { method: 'POST' })).status, 400);
  t.is(typeof body.access_token, 'string');
});

const HOSTS = [
  'evil.example',
  'evil.example:443',
  'EVIL.example',
  '%00',
  '%',
  '"><script>',
  '[::1',
  '[',
  '@',
  'a@b',
  '\\',
  '/',
  '//evil.example',
  ':',
  ':99999999',
  ' ',
  '',
  'x'.repeat(4000),
  '127.0.0.1.evil.example',
  '\u00e4',
];

test('the Host header does not change URLs, and causes no 5xx', async (t) => {
  const query = authorizeUrl(platform, app).search;
  const paths = [
    DOCUMENT,
    '/oauth/jwks',
    `/oauth/authorize${query}`,
    '/oauth/authorize?client_id=unknown',
    '/oauth/authorize/nothing',
    '/oauth/interaction/nothing',
    '/oauth/logout',
    '/oauth/token',
    '/api/v1/identity',
  ];
  for (const host of HOSTS) {
    for (const path of paths) {
      const connection = await RawConnection.open(platform.origin);
      connection.write(
        `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nX-Forwarded-Host: evil.example\r\nX-Forwarded-Proto: https\r\nConnection: close\r\n\r\n`,
      );
      const { status, headers, body } = await connection.answer();
      connection.close();
      t.true(status < 500, `${host} ${path}: ${status}`);
      t.false(`${body}${[...headers.values()].join(' ')}`.toLowerCase().includes('evil.'), `${host} ${path}`);
      if (status === 303)
        t.true(
          headers.get('location')!.startsWith(`${platform.origin}/`) ||
            headers.get('location')!.startsWith('/'),
        );
      if (path === DOCUMENT && status === 200) t.is(JSON.parse(body).issuer, platform.origin);
    }
  }
});

test('an absolute request target of another origin does not change URLs', async (t) => {
  const connection = await RawConnection.open(platform.origin);
  connection.write(`GET http://evil.example${DOCUMENT} HTTP/1.1\r\nHost: evil.example\r\n\r\n`);
  const { status, body } = await connection.answer();
  connection.close();
  t.true(status < 500);
  t.false(body.includes('evil'));
});

test('requests without a Host header cause no 5xx', async (t) => {
  for (const path of [DOCUMENT, `/oauth/authorize${authorizeUrl(platform, app).search}`, '/oauth/logout']) {
    const connection = await RawConnection.open(platform.origin);
    connection.write(`GET ${path} HTTP/1.0\r\n\r\n`);
    const { status } = await connection.answer();
    connection.close();
    t.true(status < 500, `${path} ${status}`);
  }
});
