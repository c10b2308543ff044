import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, exchangeCode, exchangeRefreshToken, requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';
import { APIS, ARCHIVE, DOCUMENTS, authorizeFor, startApis, startNodes, statusOf } from './apis.ts';

const ONE = 'a token is for one resource: send the parameter resource once';
const UNKNOWN = 'resource indicator is missing, or unknown';
const NOT_ALLOWED = 'requested scope is not allowed';
const NOT_GRANTED = 'this was granted for another resource: authorize the client for the resource first';
const FOR_DOCUMENTS = { resource: DOCUMENTS, scope: 'read' };

const storage = memoryStorage();
const started = shared(async (stack) => {
  const nodes = await startNodes(stack, storage);
  const { here, there } = nodes;
  const service = await here.registerService(['view_schools']);
  return { here, there, service };
});

test('a code for an API gives tokens for that API alone, on every node', async (t) => {
  const { here, there } = await started();
  const app = await here.registerApp();
  const code = (await authorize(here, app, { parameters: FOR_DOCUMENTS })).get('code');
  for (const resource of [ARCHIVE, here.origin, 'https://unknown.example']) {
    const refused = await exchangeCode(there, app, code, { resource });
    t.is(refused.status, 400);
    t.deepEqual(refused.body as object, { error: 'invalid_target', error_description: NOT_GRANTED });
  }
  const { body } = await exchangeCode(there, app, code, { resource: DOCUMENTS });
  t.like(body, { scope: 'read', expires_in: 600, token_type: 'Bearer' });
  const next = await exchangeRefreshToken(here, app, body.refresh_token);
  t.is(next.body.expires_in, 600);
  for (const { access_token: token } of [body, next.body]) {
    t.like(decodeJwt(token), { aud: DOCUMENTS, scope: 'read', iss: here.origin, principal: 'user' });
    for (const node of [here, there]) {
      t.is(await statusOf(node, '/documents/list', token), 200);
      for (const path of ['/archive/list', '/api/v1/identity'])
        t.deepEqual(await statusOf(node, path, token), [401, 'token_invalid']);
    }
  }
});

test('a refresh token gets no token for another API, and stays valid', async (t) => {
  const { here, there } = await started();
  const app = await here.registerApp();
  const ofDocuments = await authorizeFor(here, app, { resource: DOCUMENTS, scope: 'read write' });
  const ofDefault = await authorizeFor(here, app, { scope: 'schools:read' });
  for (const [{ refresh_token: token }, resources] of [
    [ofDocuments, [ARCHIVE, here.origin, 'https://unknown.example', 'nonsense']],
    [ofDefault, [ARCHIVE, DOCUMENTS]],
  ] as const) {
    for (const resource of resources) {
      const refused = await exchangeRefreshToken(there, app, token, { resource });
      t.is(refused.status, 400, resource);
      t.deepEqual(refused.body as object, { error: 'invalid_target', error_description: NOT_GRANTED });
    }
  }
  const { refresh_token: token } = ofDocuments;
  const wider = await exchangeRefreshToken(there, app, token, { scope: 'read schools:read' });
  t.like(wider, { status: 400, body: { error: 'invalid_scope' } });
  const narrower = await exchangeRefreshToken(there, app, token, FOR_DOCUMENTS);
  t.like(narrower, { status: 200, body: { scope: 'read' } });
  t.is(decodeJwt(narrower.body.access_token).aud, DOCUMENTS);
  const whole = await exchangeRefreshToken(here, app, narrower.body.refresh_token);
  t.like(decodeJwt(whole.body.access_token), { aud: DOCUMENTS, scope: 'read write' });
  const standard = await exchangeRefreshToken(there, app, ofDefault.refresh_token, { resource: here.origin });
  t.like(decodeJwt(standard.body.access_token), { aud: here.origin, scope: 'schools:read' });
});

test('an API without lifetimes of its own issues tokens of an hour, or of a shorter time of the server', async (t) => {
  const { here, service } = await started();
  const { body } = await requestClientToken(here, service, { resource: ARCHIVE, scope: 'read' });
  t.is(body.expires_in, 3600);
  await using platform = await startApis({ tokens: { lifetimes: { accessToken: '10 minutes' } } });
  const own = await platform.registerService(['view_schools']);
  const shorter = await requestClientToken(platform, own, { resource: ARCHIVE, scope: 'read' });
  t.is(shorter.body.expires_in, 600);
});

test('a client gets tokens of its own for each API', async (t) => {
  const { here, service, there } = await started();
  const { body } = await requestClientToken(here, service, FOR_DOCUMENTS);
  t.like(decodeJwt(body.access_token), { aud: DOCUMENTS, scope: 'read', principal: 'client' });
  t.is(body.expires_in, 600);
  t.is(await statusOf(there, '/documents/list', body.access_token), 200);
  t.deepEqual(await statusOf(there, '/api/v1/schools', body.access_token), [401, 'token_invalid']);
  const standard = (await requestClientToken(here, service)).body;
  t.is(decodeJwt(standard.access_token).aud, here.origin);
  t.is(standard.expires_in, 31_536_000);
  t.deepEqual(await statusOf(there, '/documents/list', standard.access_token), [401, 'token_invalid']);

  await here.auth.revoke({ token: body.access_token });
  t.deepEqual(await statusOf(here, '/documents/list', body.access_token), [401, 'token_revoked']);
});

test('a scope of another API, and an unknown API, are refused at both endpoints', async (t) => {
  const { here, service } = await started();
  const app = await here.registerApp();
  const browser = new Browser();
  await authorize(here, app, { browser });
  for (const [parameters, error, description] of [
    [{ resource: DOCUMENTS, scope: 'schools:read' }, 'invalid_scope', `${NOT_ALLOWED}: schools:read`],
    [{ resource: ARCHIVE, scope: 'write' }, 'invalid_scope', `${NOT_ALLOWED}: write`],
    [{ scope: 'read' }, 'invalid_scope', `${NOT_ALLOWED}: read`],
    [{ resource: 'https://documents.example/v2' }, 'invalid_target', UNKNOWN],
    [{ resource: `${DOCUMENTS}//` }, 'invalid_target', UNKNOWN],
    [
      { resource: `${DOCUMENTS}#a` },
      'invalid_target',
      'resource indicator must not contain a fragment component',
    ],
    [{ resource: 'documents' }, 'invalid_target', 'resource indicator must be an absolute URI'],
  ] as const) {
    const { location } = await browser.get(authorizeUrl(here, app, parameters));
    t.like(Object.fromEntries(location!.searchParams), {
      error,
      error_description: description,
      state: 'xyz',
    });
    const refused = await requestClientToken(here, service, parameters);
    t.like(refused, { status: 400, body: { error, error_description: description } });
  }
});

test('several resources in one request are refused', async (t) => {
  const { here, service } = await started();
  const app = await here.registerApp();
  const tokens = await authorizeFor(here, app, FOR_DOCUMENTS);
  const browser = new Browser();
  const code = (await authorize(here, app, { browser, parameters: FOR_DOCUMENTS })).get('code')!;
  const grants: Record<string, string>[] = [
    { grant_type: 'client_credentials', ...asClient(service) },
    { grant_type: 'refresh_token', ...asClient(app), refresh_token: tokens.refresh_token },
    { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri, code },
  ];
  for (const second of [ARCHIVE, DOCUMENTS]) {
    for (const grant of grants) {
      const form = new URLSearchParams({ ...grant, resource: DOCUMENTS });
      form.append('resource', second);
      const refused = await postForm(here.url('/oauth/token'), String(form));
      t.is(refused.status, 400);
      t.deepEqual(refused.body, { error: 'invalid_target', error_description: ONE }, grant['grant_type']);
    }
    const url = authorizeUrl(here, app, FOR_DOCUMENTS);
    url.searchParams.append('resource', second);
    const { location } = await browser.get(url);
    t.is(location?.searchParams.get('error'), 'invalid_target');
    t.is(location?.searchParams.get('error_description'), ONE);
  }
  t.is((await exchangeCode(here, app, code)).status, 200, 'the code was not spent');
  t.is((await exchangeRefreshToken(here, app, tokens.refresh_token)).status, 200);
});

test('an equivalent URL is the URL of the options', async (t) => {
  const { here, service } = await started();
  const app = await here.registerApp();
  for (const [resource, aud] of [
    [`${ARCHIVE}/`, ARCHIVE],
    ['HTTPS://Archive.Example:443', ARCHIVE],
    ['https://DOCUMENTS.example/v1', DOCUMENTS],
    [`${DOCUMENTS}/`, DOCUMENTS],
    [`${here.origin}/`, here.origin],
  ] as const) {
    const code = (await authorize(here, app, { parameters: { resource } })).get('code');
    const exchanged = await exchangeCode(here, app, code, { resource });
    const more = { resource: aud };
    for (const { body } of [
      await requestClientToken(here, service, { resource }),
      exchanged,
      await exchangeRefreshToken(here, app, exchanged.body.refresh_token, more),
    ])
      t.is(decodeJwt(body.access_token).aud, aud);
  }
});

test('a client that is registered with scopes gets those of the API', async (t) => {
  const { here } = await started();
  const app = await here.registerApp({ scopes: ['schools:read', 'read'] });
  for (const [resource, scope] of [
    [here.origin, 'schools:read'],
    [DOCUMENTS, 'read'],
    [ARCHIVE, 'read'],
  ] as const) {
    const body = await authorizeFor(here, app, { resource });
    t.is(body.scope, scope);
    t.like(decodeJwt(body.access_token), { aud: resource, scope });
  }
  const limited = await here.registerApp({ scopes: ['schools:read'] });
  const { access_token: token, scope } = await authorizeFor(here, limited, { resource: DOCUMENTS });
  t.is(scope, undefined);
  t.like(decodeJwt(token), { aud: DOCUMENTS, limited: true });
  t.deepEqual(await statusOf(here, '/documents/list', token), [403, 'missing_permission']);

  // A token without scopes is limited to the API's part of a list that its client is given later.
  const unlimited = await here.registerApp();
  const old = await authorizeFor(here, unlimited, { resource: DOCUMENTS });
  await here.auth.clients.update(unlimited.client.id, { scopes: ['schools:read', 'write'] });
  const fields = { ...asClient(unlimited), token: old.access_token };
  const known = await postForm(here.url('/oauth/introspect'), fields);
  t.like(known.body, { active: true, aud: DOCUMENTS, scope: 'write' });
  const next = await exchangeRefreshToken(here, unlimited, old.refresh_token);
  t.like(decodeJwt(next.body.access_token), { aud: DOCUMENTS, scope: 'write' });
});

test('consent is asked for each API, and remembered for it', async (t) => {
  const { here, there } = await started();
  const app = await here.registerApp();
  const browser = new Browser();
  const isAsked = async (node: Platform, parameters: Record<string, string>): Promise<boolean> =>
    (await browser.open(authorizeUrl(node, app, parameters))).html.includes('Authorize</button>');
  await authorize(here, app, { browser, parameters: { scope: 'schools:read' } });
  for (const parameters of [
    FOR_DOCUMENTS,
    { scope: 'read', resource: ARCHIVE },
    { resource: ARCHIVE },
    {},
  ] as Record<string, string>[]) {
    t.true(await isAsked(here, parameters), JSON.stringify(parameters));
    await authorize(here, app, { browser, parameters });
    t.false(await isAsked(here, parameters), JSON.stringify(parameters));
  }
  t.true(await isAsked(there, { resource: DOCUMENTS, scope: 'write' }));
  t.true(await isAsked(there, { resource: DOCUMENTS }));
});

test('the records and introspection name the API', async (t) => {
  const { here, there } = await started();
  const app = await here.registerApp();
  const { access_token: token } = await authorizeFor(here, app, FOR_DOCUMENTS);
  await authorizeFor(here, app, {});
  const known = await postForm(there.url('/oauth/introspect'), { ...asClient(app), token });
  t.like(known.body, { active: true, aud: DOCUMENTS, scope: 'read', iss: here.origin });
  const types = ['token_issued', 'consent_given'] as const;
  const issued = await here.auth.audit.list({ types, clientId: app.client.id });
  t.deepEqual(
    issued.map((record) => [record.type, 'resource' in record ? record.resource : undefined]).toReversed(),
    [
      ['consent_given', DOCUMENTS],
      ['token_issued', DOCUMENTS],
      ['consent_given', undefined],
      ['token_issued', undefined],
    ],
  );
});

test('auth.issueToken() issues for an API', async (t) => {
  const { here, there, service } = await started();
  const { auth } = here;
  const client = (await here.registerApp()).client.id;
  const token = await auth.issueToken({
    clientId: client,
    userId: '1',
    resource: DOCUMENTS,
    scopes: ['read'],
  });
  const { aud, exp, iat } = decodeJwt(token);
  t.is(aud, DOCUMENTS);
  t.is(exp! - iat!, 600);
  t.is(await statusOf(there, '/documents/list', token), 200);
  t.deepEqual(await statusOf(there, '/archive/list', token), [401, 'token_invalid']);
  const { id } = service.client;
  const ofClient = await auth.issueToken({ clientId: id, resource: ARCHIVE });
  t.is(await statusOf(there, '/archive/list', ofClient), 200);
  for (const [refused, message] of [
    [
      { resource: 'https://unknown.example' },
      `issueToken({ resource }): the server has no such API; the APIs are ${here.origin}, ${DOCUMENTS}, ${ARCHIVE}`,
    ],
    [
      { resource: ARCHIVE, scopes: ['schools:read'] },
      'issueToken({ scopes }): the API has no scope "schools:read"',
    ],
    [{ resource: DOCUMENTS, lifetime: 601 }, /^issueToken\({ lifetime }\): /],
  ] as const)
    await t.throwsAsync(auth.issueToken({ clientId: id, ...refused }), { code: 'ERR_CONFIG', message });
});

test('the tokens of an API that was removed from the options are refused, and not spent', async (t) => {
  const { here } = await started();
  const options = { storage, issuer: here.origin, users: here.users, tokens: { refreshGrace: 0 } };
  await using before = await startApis(options);
  const app = await here.registerApp();
  const parameters = { resource: ARCHIVE, scope: 'read' };
  const body = await authorizeFor(here, app, parameters);
  const code = (await authorize(here, app, { parameters })).get('code');
  await using without = await startPlatform({ ...APIS, ...options, resources: {} });

  for (const answer of [
    await exchangeRefreshToken(without, app, body.refresh_token),
    await exchangeCode(without, app, code),
  ])
    t.like(answer, { status: 400, body: { error: 'invalid_target', error_description: UNKNOWN } });
  const introspect = async (node: Platform): Promise<unknown> =>
    (await postForm(node.url('/oauth/introspect'), { ...asClient(app), token: body.access_token })).body;
  t.deepEqual(await introspect(without), { active: false });
  t.like(await introspect(before), { active: true, aud: ARCHIVE });
  t.is((await exchangeRefreshToken(before, app, body.refresh_token)).status, 200);
  t.is((await exchangeCode(before, app, code)).status, 200);
});
