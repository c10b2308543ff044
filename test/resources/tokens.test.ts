import { decodeJwt } from 'jose';

import { onEachDatabase } from '../adapters/databases.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl } from '../harness/platform.ts';
import type { Platform, RegisteredApp, TokenAnswer } from '../harness/platform.ts';
import { postForm } from '../harness/requests.ts';
import { asClient, requestClientToken } from '../harness/tokens.ts';
import { platformOn } from '../oidc/on-databases.ts';
import { ARCHIVE, DOCUMENTS, authorizeFor, refresh, startNodes, statusOf } from './apis.ts';

const ONE = 'a token is for one resource: send the parameter resource once';
const UNKNOWN = 'resource indicator is missing, or unknown';
const NOT_ALLOWED = 'requested scope is not allowed';
const NOT_GRANTED = 'this was granted for another resource: authorize the client for the resource first';

async function redeem(
  platform: Platform,
  app: RegisteredApp,
  given: Record<string, string>,
): Promise<TokenAnswer> {
  return platform.token({
    grant_type: 'authorization_code',
    ...asClient(app),
    redirect_uri: app.redirectUri,
    ...given,
  });
}

async function own(
  platform: Platform,
  app: RegisteredApp,
  given: Record<string, string>,
): Promise<TokenAnswer> {
  return requestClientToken(platform, app, given);
}

onEachDatabase('a code for an API gives tokens for that API alone, on every node', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const app = await here.registerApp();
  const parameters = { resource: DOCUMENTS, scope: 'read' };
  const code = (await authorize(here, app, { parameters })).get('code')!;

  for (const resource of [ARCHIVE, here.origin, 'https://unknown.example']) {
    const refused = await redeem(there, app, { code, resource });
    t.is(refused.status, 400);
    t.deepEqual(refused.body as object, { error: 'invalid_target', error_description: NOT_GRANTED });
  }
  const { body } = await redeem(there, app, { code, resource: DOCUMENTS });
  t.like(body, { scope: 'read', expires_in: 600, token_type: 'Bearer' });
  t.like(decodeJwt(body.access_token), {
    aud: DOCUMENTS,
    scope: 'read',
    iss: here.origin,
    principal: 'user',
  });

  for (const node of [here, there]) {
    t.is(await statusOf(node, '/documents/list', body.access_token), 200);
    t.deepEqual(await statusOf(node, '/archive/list', body.access_token), [401, 'token_invalid']);
    t.deepEqual(await statusOf(node, '/api/v1/identity', body.access_token), [401, 'token_invalid']);
  }

  const next = await refresh(here, app, { refresh_token: body.refresh_token });
  t.like(decodeJwt(next.body.access_token), { aud: DOCUMENTS, scope: 'read' });
  t.is(next.body.expires_in, 600);
  t.is(await statusOf(there, '/documents/list', next.body.access_token), 200);
});

onEachDatabase('a refresh token gets no token for another API, and stays valid', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const app = await here.registerApp();
  const ofDocuments = await authorizeFor(here, app, { resource: DOCUMENTS, scope: 'read write' });
  const ofDefault = await authorizeFor(here, app, { scope: 'schools:read' });
  for (const [{ refresh_token }, resources] of [
    [ofDocuments, [ARCHIVE, here.origin, 'https://unknown.example', 'nonsense']],
    [ofDefault, [ARCHIVE, DOCUMENTS]],
  ] as const) {
    for (const resource of resources) {
      const refused = await refresh(there, app, { refresh_token, resource });
      t.is(refused.status, 400, resource);
      t.deepEqual(refused.body as object, { error: 'invalid_target', error_description: NOT_GRANTED });
    }
  }
  const { refresh_token } = ofDocuments;
  const wider = await refresh(there, app, { refresh_token, scope: 'read schools:read' });
  t.like(wider, { status: 400, body: { error: 'invalid_scope' } });
  const narrower = await refresh(there, app, { refresh_token, scope: 'read', resource: DOCUMENTS });
  t.like(narrower, { status: 200, body: { scope: 'read' } });
  t.is(decodeJwt(narrower.body.access_token).aud, DOCUMENTS);
  const whole = await refresh(here, app, { refresh_token: narrower.body.refresh_token });
  t.like(decodeJwt(whole.body.access_token), { aud: DOCUMENTS, scope: 'read write' });
  const standard = await refresh(there, app, {
    refresh_token: ofDefault.refresh_token,
    resource: here.origin,
  });
  t.like(decodeJwt(standard.body.access_token), { aud: here.origin, scope: 'schools:read' });
});

onEachDatabase('a client gets tokens of its own for each API', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const service = await here.registerService(['view_schools']);
  const { body } = await own(here, service, { resource: DOCUMENTS, scope: 'read' });
  t.like(decodeJwt(body.access_token), { aud: DOCUMENTS, scope: 'read', principal: 'client' });
  t.is(body.expires_in, 600);
  t.is(await statusOf(there, '/documents/list', body.access_token), 200);
  t.deepEqual(await statusOf(there, '/api/v1/schools', body.access_token), [401, 'token_invalid']);
  const standard = (await own(here, service, {})).body;
  t.is(decodeJwt(standard.access_token).aud, here.origin);
  t.is(standard.expires_in, 31_536_000);
  t.deepEqual(await statusOf(there, '/documents/list', standard.access_token), [401, 'token_invalid']);

  await here.auth.revoke({ token: body.access_token });
  t.deepEqual(await statusOf(here, '/documents/list', body.access_token), [401, 'token_revoked']);
});

onEachDatabase(
  'a scope of another API, and an unknown API, are refused at both endpoints',
  async (t, _, address) => {
    const { here } = await startNodes(t, address);
    const app = await here.registerApp();
    const service = await here.registerService(['view_schools']);
    const browser = new Browser();
    await authorize(here, app, { browser });
    const refusals: [Record<string, string>, string, string][] = [
      [{ resource: DOCUMENTS, scope: 'schools:read' }, 'invalid_scope', `${NOT_ALLOWED}: schools:read`],
      [{ resource: ARCHIVE, scope: 'write' }, 'invalid_scope', `${NOT_ALLOWED}: write`],
      [{ scope: 'read' }, 'invalid_scope', `${NOT_ALLOWED}: read`],
      [{ resource: 'https://documents.example/v2' }, 'invalid_target', UNKNOWN],
      [{ resource: `${DOCUMENTS}/` }, 'invalid_target', UNKNOWN],
      [
        { resource: `${DOCUMENTS}#a` },
        'invalid_target',
        'resource indicator must not contain a fragment component',
      ],
      [{ resource: 'documents' }, 'invalid_target', 'resource indicator must be an absolute URI'],
    ];
    for (const [parameters, error, description] of refusals) {
      const message = JSON.stringify(parameters);
      const { location } = await browser.get(authorizeUrl(here, app, parameters));
      t.is(location?.searchParams.get('error'), error, message);
      t.is(location?.searchParams.get('error_description'), description, message);
      t.is(location?.searchParams.get('state'), 'xyz');
      const refused = await own(here, service, parameters);
      t.is(refused.status, 400);
      t.like(refused.body, { error, error_description: description }, message);
    }
  },
);

onEachDatabase('several resources in one request are refused', async (t, _, address) => {
  const { here } = await startNodes(t, address);
  const app = await here.registerApp();
  const service = await here.registerService(['view_schools']);
  const tokens = await authorizeFor(here, app, { resource: DOCUMENTS, scope: 'read' });
  const code = (await authorize(here, app, { parameters: { resource: DOCUMENTS, scope: 'read' } })).get(
    'code',
  )!;
  const browser = new Browser();
  await authorize(here, app, { browser });
  const endpoint = here.url('/oauth/token').href;
  const grants: Record<string, string>[] = [
    { grant_type: 'client_credentials', ...asClient(service) },
    { grant_type: 'refresh_token', ...asClient(app), refresh_token: tokens.refresh_token },
    { grant_type: 'authorization_code', ...asClient(app), redirect_uri: app.redirectUri, code },
  ];
  for (const second of [ARCHIVE, DOCUMENTS]) {
    for (const grant of grants) {
      const form = new URLSearchParams(grant);
      form.append('resource', DOCUMENTS);
      form.append('resource', second);
      const refused = await postForm(endpoint, String(form));
      t.is(refused.status, 400);
      t.deepEqual(refused.body, { error: 'invalid_target', error_description: ONE }, grant['grant_type']);
    }
    const url = authorizeUrl(here, app, { resource: DOCUMENTS, scope: 'read' });
    url.searchParams.append('resource', second);
    const { location } = await browser.get(url);
    t.is(location?.searchParams.get('error'), 'invalid_target');
    t.is(location?.searchParams.get('error_description'), ONE);
  }
  t.is((await redeem(here, app, { code })).status, 200, 'the code was not spent');
  t.is((await refresh(here, app, { refresh_token: tokens.refresh_token })).status, 200);
});

onEachDatabase('an equivalent URL is the URL of the options', async (t, _, address) => {
  const { here } = await startNodes(t, address);
  const app = await here.registerApp();
  const service = await here.registerService(['view_schools']);
  for (const [sent, aud] of [
    [`${ARCHIVE}/`, ARCHIVE],
    ['HTTPS://Archive.Example:443', ARCHIVE],
    ['https://DOCUMENTS.example/v1', DOCUMENTS],
    [`${here.origin}/`, here.origin],
  ] as const) {
    t.is(decodeJwt((await own(here, service, { resource: sent })).body.access_token).aud, aud);
    const code = (await authorize(here, app, { parameters: { resource: sent } })).get('code')!;
    const { body } = await redeem(here, app, { code, resource: sent });
    t.is(decodeJwt(body.access_token).aud, aud);
    const next = await refresh(here, app, { refresh_token: body.refresh_token, resource: aud });
    t.is(decodeJwt(next.body.access_token).aud, aud);
  }
});

onEachDatabase('a client that is registered with scopes gets those of the API', async (t, _, address) => {
  const { here } = await startNodes(t, address);
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
  const known = await postForm(here.url('/oauth/introspect').href, {
    ...asClient(unlimited),
    token: old.access_token,
  });
  t.like(known.body, { active: true, aud: DOCUMENTS, scope: 'write' });
  const next = await refresh(here, unlimited, { refresh_token: old.refresh_token });
  t.like(decodeJwt(next.body.access_token), { aud: DOCUMENTS, scope: 'write' });
});

onEachDatabase('consent is asked for each API, and remembered for it', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const app = await here.registerApp();
  const browser = new Browser();
  const isAsked = async (node: Platform, parameters: Record<string, string>): Promise<boolean> =>
    (await browser.open(authorizeUrl(node, app, parameters))).html.includes('Authorize</button>');
  const consents = [
    { scope: 'schools:read' },
    { scope: 'read', resource: DOCUMENTS },
    { scope: 'read', resource: ARCHIVE },
    { resource: ARCHIVE },
    {},
  ];
  await authorize(here, app, { browser, parameters: consents[0]! });
  for (const [index, parameters] of consents.entries()) {
    if (index > 0) t.true(await isAsked(here, parameters), JSON.stringify(parameters));
    await authorize(here, app, { browser, parameters });
    t.false(await isAsked(here, parameters), JSON.stringify(parameters));
  }
  t.true(await isAsked(there, { resource: DOCUMENTS, scope: 'write' }));
  t.true(await isAsked(there, { resource: DOCUMENTS }));
});

onEachDatabase('the records and introspection name the API', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const app = await here.registerApp();
  const service = await here.registerService(['view_schools']);
  const { access_token: token } = await authorizeFor(here, app, { resource: DOCUMENTS, scope: 'read' });
  await own(here, service, { resource: ARCHIVE });
  await own(here, service, {});
  const known = await postForm(there.url('/oauth/introspect').href, { ...asClient(app), token });
  t.like(known.body, { active: true, aud: DOCUMENTS, scope: 'read', iss: here.origin });
  const issued = await here.auth.audit.list({ types: ['token_issued', 'consent_given'] });
  t.deepEqual(
    issued.map((record) => [record.type, 'resource' in record ? record.resource : undefined]).toReversed(),
    [
      ['consent_given', DOCUMENTS],
      ['token_issued', DOCUMENTS],
      ['token_issued', ARCHIVE],
      ['token_issued', undefined],
    ],
  );
});

onEachDatabase('auth.issueToken() issues for an API', async (t, _, address) => {
  const { here, there } = await startNodes(t, address);
  const { client } = await here.registerApp();
  const service = (await here.registerService(['view_schools'])).client;
  const token = await here.auth.issueToken({
    client: client.id,
    user: '1',
    resource: DOCUMENTS,
    scopes: ['read'],
  });
  const { aud, exp, iat } = decodeJwt(token);
  t.is(aud, DOCUMENTS);
  t.is(exp! - iat!, 600);
  t.is(await statusOf(there, '/documents/list', token), 200);
  t.deepEqual(await statusOf(there, '/archive/list', token), [401, 'token_invalid']);
  const ofClient = await here.auth.issueToken({ client: service.id, resource: ARCHIVE });
  t.is(await statusOf(there, '/archive/list', ofClient), 200);
  const refused = { client: service.id, resource: 'https://unknown.example' };
  await t.throwsAsync(here.auth.issueToken(refused), {
    code: 'ERR_CONFIG',
    message: `issueToken({ resource }): the server has no such API; the APIs are ${here.origin}, ${DOCUMENTS}, ${ARCHIVE}`,
  });
  await t.throwsAsync(
    here.auth.issueToken({ client: service.id, resource: ARCHIVE, scopes: ['schools:read'] }),
    {
      message: 'issueToken({ scopes }): the API has no scope "schools:read"',
    },
  );
  await t.throwsAsync(here.auth.issueToken({ client: service.id, resource: DOCUMENTS, lifetime: 601 }), {
    code: 'ERR_CONFIG',
  });
});

onEachDatabase(
  'the tokens of an API that was removed from the options are refused, and not spent',
  async (t, _, address) => {
    const { here } = await startNodes(t, address, { tokens: { refreshGrace: 0 } });
    const app = await here.registerApp();
    const body = await authorizeFor(here, app, { resource: ARCHIVE, scope: 'read' });
    const code = (await authorize(here, app, { parameters: { resource: ARCHIVE, scope: 'read' } })).get(
      'code',
    )!;
    const without = await platformOn(t, address, {
      issuer: here.origin,
      users: here.users,
      resources: {},
      tokens: { refreshGrace: 0 },
    });

    const refused = [
      await refresh(without, app, { refresh_token: body.refresh_token }),
      await redeem(without, app, { code }),
    ];
    for (const answer of refused) {
      t.like(answer, { status: 400, body: { error: 'invalid_target', error_description: UNKNOWN } });
    }
    const introspect = async (node: Platform): Promise<unknown> =>
      (
        await postForm(node.url('/oauth/introspect').href, {
          ...asClient(app),
          token: body.access_token,
        })
      ).body;
    t.deepEqual(await introspect(without), { active: false });
    t.like(await introspect(here), { active: true, aud: ARCHIVE });
    t.is((await refresh(here, app, { refresh_token: body.refresh_token })).status, 200);
    t.is((await redeem(here, app, { code })).status, 200);
  },
);
