import test from '../harness/test.ts';
import { agents } from 'koa-gatehouse';
import { createMetrics } from 'koa-gatehouse/metrics';

import { CALLBACK } from './documents.ts';
import { Browser } from '../harness/browser.ts';
import { like } from '../harness/like.ts';
import { authorize, authorizeUrl, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { pkce } from '../harness/pkce.ts';
import { send } from '../harness/requests.ts';
import { endWith, serve } from '../harness/serve.ts';
import { exchangeCode } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { COMMON_AGENTS } from './common-agents.ts';
import { AGENT, appOf, eventsOf, register, registered, startOpen } from './apps.ts';

const started = shared(async (stack) => {
  const platform = await startOpen(stack);
  return { platform };
});

const PUBLIC = { token_endpoint_auth_method: 'none' };
const INITIAL = 'an initial access token of the partner';

test('an app registers itself, and gets what RFC 7591 section 3.2.1 lists', async (t) => {
  const { platform } = await started();
  const { body, headers, status } = await register(platform, {
    ...AGENT,
    client_uri: 'https://agent.example',
    logo_uri: 'https://agent.example/logo.svg',
    contacts: ['dev@agent.example'],
    software_id: 'x',
    unknown: { a: 1 },
  });
  t.is(status, 201);
  t.is(headers.get('cache-control'), 'no-store');
  t.is(headers.get('pragma'), 'no-cache');
  const { client_id: id, client_id_issued_at: at, client_secret: secret, ...rest } = body!;
  const { registration_access_token: token, ...metadata } = rest;
  t.regex(id as string, /^[0-9a-f-]{36}$/);
  t.true(Math.abs((at as number) - Date.now() / 1000) < 60);
  t.regex(secret as string, /^gatehouse_secret_[\w-]{43}$/);
  t.regex(token as string, /^gatehouse_registration_[\w-]{43}$/);
  t.deepEqual(metadata, {
    client_secret_expires_at: 0,
    registration_client_uri: `${platform.origin}/oauth/register/${String(id)}`,
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'client_secret_basic',
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    application_type: 'web',
    scope: 'schools:read',
  });
  like(t, await platform.auth.clients.find(id as string), {
    name: 'Agent',
    source: 'dynamic',
    grantType: 'authorization_code',
    confidential: true,
    firstParty: false,
    scopes: ['schools:read'],
    roles: [],
    permissions: [],
    ownerId: undefined,
    disabled: false,
  });
  t.deepEqual(await eventsOf(platform, id as string), [
    {
      type: 'client_created',
      clientId: id as string,
      name: 'Agent',
      source: 'dynamic',
      address: '127.0.0.1',
    },
  ]);
  t.true(platform.logger.lines.some(({ message }) => message === 'registration answered'));
});

test('a registered app asks for consent, and its token has its scopes only', async (t) => {
  const { platform } = await started();
  const app = await appOf(platform, await registered(platform));
  const page = await new Browser().get(authorizeUrl(platform, app, { scope: 'schools:read schools:write' }));
  t.is(page.status, 400);
  t.regex(page.text, /invalid_scope/);
  const { body, status } = await runCodeFlow(platform, app);
  t.is(status, 200);
  t.is(body.scope, 'schools:read');
  t.is((await platform.api('/schools', body.access_token)).status, 200);
  t.truthy(body.refresh_token);
});

test('the metadata names the endpoint, with the option only, and below the path of the issuer', async (t) => {
  const off = endWith(t, await startPlatform());
  const url = '/.well-known/oauth-authorization-server';
  t.false('registration_endpoint' in (await send(off.url(url))).body!);
  // Falls through to the host.
  const { status, text } = await register(off, AGENT);
  t.deepEqual({ status, text }, { status: 404, text: 'Not Found' });
  t.is((await send(off.url('/oauth/register/a'))).text, 'Not Found');

  const below = await startOpen(t, { mounting: { path: '/auth' } });
  const endpoint = (await send(below.url(url))).body!['registration_endpoint'];
  t.is(endpoint, `${below.origin}/auth/oauth/register`);
  const { registration_client_uri: uri } = await registered(below);
  t.true(uri.startsWith(`${below.origin}/auth/oauth/register/`));
  for (const path of ['/oauth/register/a/b', '/oauth/registered', '/oauth/register/a%2Fb'])
    t.is((await send(below.url(path))).status, 404, path);
});

test('members with unusual names are ignored', async (t) => {
  const { platform } = await started();
  t.is((await register(platform, { ...AGENT, __proto__: null, constructor: 1 })).status, 201);
});

test('an app registers as common agents do, and is authorized at each of its redirect URIs; those that open a program are named on the consent page, each time', async (t) => {
  const platform = await startOpen(t, { registration: { defaultScopes: ['schools:read'] } });
  const browser = new Browser();
  for (const [name, metadata] of Object.entries(COMMON_AGENTS)) {
    const registration = await registered(platform, metadata);
    t.deepEqual(registration.redirect_uris, metadata.redirect_uris, name);
    // Only what can be honoured is registered, and the answer says so.
    t.is(registration['scope'], 'schools:read', name);
    t.deepEqual(registration['grant_types'], ['authorization_code', 'refresh_token'], name);
    t.is('client_secret' in registration, metadata.token_endpoint_auth_method !== 'none', name);
    t.false('client_uri' in registration, name);
    const app = await appOf(platform, registration);
    for (const redirect_uri of metadata.redirect_uris) {
      const parameters = { ...pkce().parameters, redirect_uri };
      const callback = await authorize(platform, app, { browser, parameters });
      t.truthy(callback.get('code'), redirect_uri);
    }
  }

  // The consent page names the program that a scheme opens, and no such consent is remembered.
  const app = await appOf(platform, await registered(platform, COMMON_AGENTS['Cursor']));
  for (const _attempt of [1, 2]) {
    const page = await browser.open(authorizeUrl(platform, app, pkce().parameters));
    t.regex(page.text, /You will be sent to the program on this device that opens cursor: links/);
    t.regex(
      page.text,
      /It leads to a program on the device that you are using\. Any program there can pass itself off/,
    );
    const end = await browser.follow(await browser.submit(page, 'Authorize'));
    t.true(end.location?.href.startsWith('cursor://anysphere.cursor-mcp/oauth/callback?code='));
  }
});

test('an app without scopes gets the default ones, of which there are none by default', async (t) => {
  const { scope: _, ...withoutScope } = AGENT;
  const none = await startOpen(t);
  const empty = await registered(none, withoutScope);
  t.false('scope' in empty);
  t.deepEqual((await none.auth.clients.find(empty.client_id))?.scopes, []);
  const { body } = await runCodeFlow(none, await appOf(none, empty));
  t.is((await none.api('/schools', body.access_token)).status, 403);

  const some = await startOpen(t, {
    registration: { scopes: ['schools:read', 'schools:write'], defaultScopes: ['schools:read'] },
  });
  t.is((await registered(some, { ...withoutScope, scope: ' ' }))['scope'], 'schools:read');
  t.is((await registered(some, { ...AGENT, scope: 'schools:write' }))['scope'], 'schools:write');
  t.is((await registered(some, { ...AGENT, scope: 'claudeai' }))['scope'], 'schools:read');
});

test('with agents() apps register and publish documents, for the scopes of the further APIs', async (t) => {
  const scopes = { 'tools:use': { description: 'Use the tools', permissions: ['view_schools'] } } as const;
  await using platform = await startPlatform({
    resources: {
      'https://platform.example/mcp': { scopes },
      'https://platform.example/other': { scopes: { other: { description: 'Other', permissions: [] } } },
    },
    features: [agents({ apis: ['https://platform.example/mcp'] })],
  });
  const { scope: _, ...withoutScope } = AGENT;
  for (const metadata of [
    withoutScope,
    { ...AGENT, scope: 'claudeai' },
    { ...AGENT, scope: 'tools:use schools:read' },
  ])
    t.is((await registered(platform, metadata))['scope'], 'tools:use');
  const { body } = await send(platform.url('/.well-known/oauth-authorization-server'));
  t.true(body!['client_id_metadata_document_supported']);
  t.is(body!['registration_endpoint'], `${platform.origin}/oauth/register`);
  t.false('device_authorization_endpoint' in body!);
});

test('an app without a name has that of its redirect URI', async (t) => {
  const platform = await startOpen(t, { clients: { reservedNames: ['forbidden.example'] } });
  const nameOf = async (uri: string): Promise<unknown> =>
    (await registered(platform, { redirect_uris: [uri], token_endpoint_auth_method: 'none' }))['client_name'];
  t.is(await nameOf('https://agent.example/callback'), 'agent.example');
  t.is(await nameOf('http://localhost:3000/callback'), 'localhost');
  t.is(await nameOf('com.example.agent:/callback'), 'com.example.agent');
  const refused = await register(platform, { redirect_uris: ['https://forbidden.example/'] });
  t.is(refused.body!['error_description'], 'client_name: this name, or one that looks like it, is reserved');
});

test('the port of a loopback redirect URI is free for public apps on the device only', async (t) => {
  const { platform } = await started();
  const uri = 'http://localhost:3334/callback';
  const works = async (metadata: object): Promise<boolean> => {
    const app = await appOf(
      platform,
      await registered(platform, { ...AGENT, redirect_uris: [uri], ...metadata }),
    );
    const other = { ...app, redirectUri: 'http://localhost:4445/callback' };
    const { parameters } = pkce();
    t.is((await new Browser().get(authorizeUrl(platform, app, parameters))).status, 303);
    return (await new Browser().get(authorizeUrl(platform, other, parameters))).status === 303;
  };
  t.true(await works(PUBLIC));
  t.true(await works({ application_type: 'native' }));
  t.false(await works({ ...PUBLIC, application_type: 'web' }));
  t.false(await works({}));
  t.false(await works({ token_endpoint_auth_method: 'client_secret_post' }));
  // An app on the web that registers a loopback address over https is no native app.
  const onTheWeb = { redirect_uris: ['https://localhost:8443/callback'], token_endpoint_auth_method: 'none' };
  const { client } = await appOf(platform, await registered(platform, { ...AGENT, ...onTheWeb }));
  t.false(client.native);
});

test('a public app needs PKCE, and gets its tokens without a secret', async (t) => {
  const { platform } = await started();
  const app = await appOf(platform, await registered(platform, { ...AGENT, ...PUBLIC }));
  const { parameters, verifier } = pkce();
  const without = await new Browser().get(authorizeUrl(platform, app));
  t.is(without.status, 400);
  t.regex(without.text, /invalid_request/);
  const callback = await authorize(platform, app, { parameters });
  const { body, status } = await exchangeCode(platform, app, callback.get('code'), {
    code_verifier: verifier,
  });
  t.is(status, 200);
  t.is(body.scope, 'schools:read');
});

test('a registration needs an initial access token, where some are given, which is not logged', async (t) => {
  const token = 'c3VjaCBhcyBvbmUgcGVyIHBhcnRuZXIgMTIzNA';
  const platform = await startOpen(t, { registration: { initialAccessTokens: [token, INITIAL] } });
  const none = await register(platform, AGENT);
  t.is(none.status, 401);
  t.is(none.headers.get('www-authenticate'), `Bearer realm="${platform.origin}"`);
  t.deepEqual(none.body, {
    error: 'invalid_token',
    error_description: 'send an initial access token as Authorization: Bearer',
  });
  const encoded = Buffer.from(INITIAL).toString('base64url');
  for (const wrong of [encoded, 'x', INITIAL.slice(1).replaceAll(' ', '_')]) {
    const { headers, status } = await register(platform, AGENT, { authorization: `Bearer ${wrong}` });
    t.is(status, 401, wrong);
    t.is(headers.get('www-authenticate'), `Bearer realm="${platform.origin}", error="invalid_token"`);
  }
  t.is((await register(platform, AGENT, { authorization: `Basic ${token}` })).status, 401);
  t.deepEqual(await platform.auth.clients.list(), []);
  for (const scheme of ['Bearer', 'bearer'])
    t.is((await register(platform, AGENT, { authorization: `${scheme} ${token}` })).status, 201);
  t.false(JSON.stringify(platform.logger.lines).includes(token));
});

test('the policy decides about the metadata as registered', async (t) => {
  const asked: unknown[] = [];
  const platform = await startOpen(t, {
    registration: {
      allow(request) {
        asked.push(request);
        return new URL(request.metadata.redirect_uris[0]!).hostname === 'agent.example';
      },
    },
  });
  const sent = { ...AGENT, software_id: 'x', scope: 'schools:write schools:read' };
  const { client_id: id, client_name, redirect_uris } = await registered(platform, sent);
  t.like(asked[0], {
    requestedMetadata: sent,
    address: '127.0.0.1',
    clientId: undefined,
    metadata: {
      client_name,
      redirect_uris,
      scope: 'schools:read',
      token_endpoint_auth_method: 'client_secret_basic',
    },
  });
  const refused = await register(platform, { ...AGENT, redirect_uris: ['https://other.example/'] });
  t.is(refused.status, 400);
  t.deepEqual(refused.body, {
    error: 'invalid_client_metadata',
    error_description: 'the policy of this server refuses this app',
  });
  t.is((await register(platform, { ...AGENT, client_name: 'Acme Schools' })).status, 400);
  t.is(asked.length, 2, 'the policy is asked after the checks');
  t.deepEqual(
    (await platform.auth.clients.list()).map((client) => client.id),
    [id],
  );
});

test('a policy that fails or returns nothing registers nothing', async (t) => {
  for (const allow of [
    async () => {
      throw new Error('the directory is down');
    },
    (() => undefined) as unknown as () => boolean,
  ]) {
    const platform = await startOpen(t, { registration: { allow } });
    const { body, status, text } = await register(platform, AGENT);
    t.false(text.includes('directory'));
    t.deepEqual(await platform.auth.clients.list(), []);
    const isFailure = status === 500;
    t.is(body!['error'], isFailure ? 'server_error' : 'invalid_client_metadata');
    t.is(
      platform.logger.lines.some(({ level, message }) => level === 'error' && message === 'request failed'),
      isFailure,
    );
  }
});

test('pages of every origin can register an app, without cookies', async (t) => {
  const { platform } = await started();
  const url = platform.url('/oauth/register');
  const preflight = await send(url, {
    method: 'OPTIONS',
    headers: {
      origin: 'http://localhost:6274',
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'content-type,mcp-protocol-version',
    },
  });
  t.is(preflight.status, 204);
  t.is(preflight.headers.get('access-control-allow-origin'), '*');
  t.is(preflight.headers.get('access-control-allow-headers'), '*, Authorization');
  t.is(preflight.headers.get('access-control-allow-credentials'), null);
  const { headers, status } = await register(platform, AGENT, { origin: 'http://localhost:6274' });
  t.is(status, 201);
  t.is(headers.get('access-control-allow-origin'), '*');
  const below = await send(platform.url('/oauth/register/a'), { method: 'OPTIONS' });
  t.is(below.headers.get('access-control-allow-methods'), 'GET, PUT, DELETE');
});

test('no URL of the metadata is fetched', async (t) => {
  const { platform } = await started();
  await using elsewhere = await serve(() => (_request, response) => void response.end('{}'));
  const members = ['client_uri', 'logo_uri', 'tos_uri', 'policy_uri', 'jwks_uri', 'sector_identifier_uri'];
  const uris = Object.fromEntries(members.map((name) => [name, `${elsewhere.origin}/${name}`]));
  const registration = await registered(platform, { ...AGENT, ...uris });
  for (const name of members) t.false(name in registration);
  const app = await appOf(platform, registration);
  await runCodeFlow(platform, app);
  t.deepEqual(elsewhere.requests, []);
});

test('requests are counted by their error', async (t) => {
  const platform = await startOpen(t);
  const metrics = createMetrics(platform.auth);
  t.teardown(() => metrics.stop());
  const { registration_client_uri: uri } = await registered(platform);
  await register(platform, {});
  await send(uri);
  const text = await metrics.register.metrics();
  for (const error of ['none', 'invalid_redirect_uri', 'invalid_token'])
    t.true(text.includes(`gatehouse_registration_requests_total{error="${error}"} 1`), text);
});
