import test from '../harness/test.ts';
import { agents } from 'koa-gatehouse';
import type { ExecutionContext } from 'ava';
import { decodeJwt } from 'jose';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { Browser } from '../harness/browser.ts';
import type { Page } from '../harness/browser.ts';
import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import type { ClientKeyPair } from '../harness/client-keys.ts';
import { like } from '../harness/like.ts';
import { json } from '../harness/public-server.ts';
import { send } from '../harness/requests.ts';
import { serve } from '../harness/serve.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { breakable } from '../harness/storage.ts';
import {
  askConsent,
  CALLBACK,
  connect,
  documentOptions,
  refresh,
  requestOf,
  serveDocument,
  startWithDocuments,
} from './documents.ts';

const BOB: [string, string] = ['bob@school.example', 'battery staple'];
const LOOPBACK = 'http://127.0.0.1/callback';

test('an app that nobody registered connects, refreshes and is used', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  const answer = await connect(platform, site.id);
  t.is(answer.status, 200);
  t.like(decodeJwt(answer.body.access_token), { client_id: site.id, scope: 'schools:read' });
  t.is((await platform.api('/schools', answer.body.access_token)).status, 200);
  const next = await refresh(platform, site.id, answer);
  t.is(next.status, 200);
  like(t, await platform.auth.clients.find(site.id), {
    id: site.id,
    name: 'Agent',
    source: 'metadata_document',
    confidential: false,
    firstParty: false,
    native: false,
    redirectUris: [CALLBACK],
    scopes: ['schools:read'],
  });
  // The consent is remembered for a redirect URI of a host.
  t.is((await connect(platform, site.id)).status, 200);
  // One fetch for all of that.
  t.deepEqual(site.requests, ['/oauth/client.json']);
  const events = await platform.auth.audit.list({ clientId: site.id, types: ['client_created'] });
  like(t, events, [{ name: 'Agent', source: 'metadata_document', address: '127.0.0.1' }]);
  t.is(events.length, 1);
});

test('on one machine, an app connects with a document on loopback, where the option says so', async (t) => {
  const document = { client_name: 'Agent', redirect_uris: [CALLBACK] };
  await using site = await serve(
    () => (request, response) =>
      json({ ...document, client_id: `http://${request.headers.host}${request.url}` })(request, response),
  );
  const { port } = new URL(site.origin);
  const ids = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${port}/client.json`);
  await using platform = await startPlatform(documentOptions({ loopback: true }));
  for (const id of ids) {
    const answer = await connect(platform, id);
    t.like(decodeJwt(answer.body.access_token), { client_id: id });
  }
  await refusedPage(t, platform, `${platform.origin}/client.json`, {
    code: 'client_source_invalid',
    details: /is a URL of this server/,
  });
  await refusedPage(t, platform, `http://apps.example:${port}/client.json`, {
    code: 'client_source_invalid',
    details: /is neither an https URL nor on loopback/,
  });
  await using without = await startPlatform(documentOptions());
  await refusedPage(t, without, ids[0]!, { code: 'invalid_client' });
});

test('the metadata of the server announces it', async (t) => {
  const well = '/.well-known/oauth-authorization-server';
  const { body: on } = await send((await startWithDocuments(t)).url(well));
  t.is(on!['client_id_metadata_document_supported'], true);
  t.is(on!['authorization_response_iss_parameter_supported'], true);
  t.true((on!['token_endpoint_auth_methods_supported'] as string[]).includes('none'));
  const off = await startWithDocuments(t, {}, { features: [] });
  t.false('client_id_metadata_document_supported' in (await send(off.url(well))).body!);
});

/** Opens an authorization request, and expects an error page of this server. */
async function refusedPage(
  t: ExecutionContext,
  platform: Platform,
  id: string,
  { code, details, status = 400 }: { code: string; details?: RegExp; status?: number },
): Promise<Page> {
  const page = await new Browser().open(requestOf(platform, id));
  t.is(page.status, status, page.text);
  t.true(page.text.includes(`Error ${code}`), page.text);
  if (details) t.regex(page.text, details);
  return page;
}

test('refuses ids that are no URL of a document, before anything is fetched', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  const { host, port } = new URL(site.id);
  for (const [details, ...ids] of [
    [/longer than 255 characters/, `https://${host}/${'a'.repeat(255)}`],
    [/has no path/, `https://${host}/`, `https://${host}/?document`],
    [/credentials/, `https://user@${host}/a`],
    [/fragment/, `https://${host}/a#b`],
    [
      /normal form/,
      `https://${host}`,
      `https://${host}/a/../b`,
      `https://${host}/a/%2e%2E/b`,
      `https://${host}/./a`,
      `https://APPS.example:${port}/a`,
      'https://apps.example:443/a',
      `https://${host}/a b`,
      `https://0x7f.1:${port}/a`,
      'https://2130706433/a',
      'https://bücher.example/a',
    ],
    [/host name/, `https://127.0.0.1:${port}/a`, `https://[::1]:${port}/a`, 'https://apps.example./a'],
  ] as const)
    for (const id of ids) await refusedPage(t, platform, id, { code: 'client_source_invalid', details });
  for (const id of [`http://${host}/a`, `ftp://${host}/a`, `HTTPS://${host}/a`, 'file:///etc/passwd'])
    await refusedPage(t, platform, id, { code: 'invalid_client' });
  t.is(site.connections(), 0);
});

test('refuses a document at the host of the server itself', async (t) => {
  const platform = await startWithDocuments(t, {}, { issuer: 'https://apps.example' });
  const site = await serveDocument(t);
  const page = await new Browser().get(requestOf(platform, site.id));
  t.regex(page.text, /is a URL of this server/);
  t.is(site.connections(), 0);
});

test('refuses documents with mistakes, and says what is wrong', async (t) => {
  const platform = await startWithDocuments(t);
  const secret = 'a secret';
  const cases: ReadonlyArray<readonly [Record<string, unknown>, RegExp]> = [
    [{ client_id: 'https://other.example/a' }, /client_id: must be the URL of the document/],
    [{ client_id: undefined }, /client_id: must be the URL/],
    [{ client_name: undefined }, /client_name: give a name/],
    [{ client_name: ' ' }, /client_name: give a name of 1 to 100/],
    [{ client_name: 'a‮b' }, /client_name: leave out control characters/],
    [{ client_name: 'Acme Schools' }, /client_name: this name, or one that looks like it, is reserved/],
    [{ client_name: 'Аcme Schools' }, /client_name: this name, or one that looks like it, is reserved/],
    [{ redirect_uris: undefined }, /redirect_uris: give an array/],
    [{ redirect_uris: [] }, /redirect_uris: .* at least one/],
    [{ redirect_uris: ['http://agent.example/'] }, /redirect_uris\[0\]: use https/],
    [{ redirect_uris: ['https://agent.example/*'] }, /redirect_uris\[0\]: wildcards/],
    [{ redirect_uris: ['javascript:alert(1)'] }, /redirect_uris\[0\]/],
    [{ redirect_uris: [LOOPBACK, 'intent://app.example/'] }, /redirect_uris\[1\]: use a scheme of your own/],
    [{ client_secret: secret }, /client_secret: a document that anybody can read/],
    [{ client_secret_expires_at: 0 }, /client_secret_expires_at/],
    [{ token_endpoint_auth_method: 'client_secret_basic' }, /token_endpoint_auth_method: use none/],
    [{ token_endpoint_auth_method: 'private_key_jwt' }, /token_endpoint_auth_method: use none/],
    [{ jwks: { keys: [{ kty: 'EC', d: 'private' }] } }, /jwks: contains a key that is not public/],
    [{ grant_types: ['client_credentials'] }, /grant_types: must contain authorization_code/],
    [{ response_types: ['token'] }, /response_types: must contain code/],
  ];
  for (const [index, [members, details]] of cases.entries()) {
    const site = await serveDocument(t, members);
    const page = await refusedPage(t, platform, site.id, { code: 'client_source_invalid', details });
    t.false(page.html.includes(secret), `${index}`);
    // Nothing is redirected either, when the client asks for no page.
    const silent = await new Browser().get(requestOf(platform, site.id, { prompt: 'none' }));
    t.deepEqual([silent.status, silent.location], [400, undefined]);
  }
});

test('says why a document could not be read, in the language of the person, with nothing of its text', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  site.answer = (_request, response) =>
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>Free money</h1>');
  const url = requestOf(platform, site.id, { ui_locales: 'de' });
  const page = await new Browser().get(url, { 'accept-language': 'de' });
  t.is(page.heading, 'Die Beschreibung dieser App ist fehlerhaft');
  t.regex(page.text, /the metadata document could not be read: the content type is not JSON/);
  t.false(page.html.includes('Free money'));
  const english = await refusedPage(t, platform, site.id, { code: 'client_source_invalid' });
  t.is(english.heading, 'The description of this app is wrong');
  // Asked again at once, it is not fetched again.
  t.is(site.requests.length, 1);

  const down = await serveDocument(t);
  await down[Symbol.asyncDispose]();
  const unavailable = await refusedPage(t, platform, down.id, {
    code: 'client_source_unavailable',
    details: /could not be read: the connection failed(?! \()/,
  });
  const failing = await serveDocument(t);
  failing.answer = (_request, response) => response.writeHead(502).end();
  await refusedPage(t, platform, failing.id, {
    code: 'client_source_unavailable',
    details: /could not be read: [^(]+ \(502\)/,
  });
  t.is(unavailable.heading, 'This app cannot be checked right now');
  const refusals = await platform.auth.audit.list({ types: ['authorization_refused'] });
  t.like(refusals[0], { error: 'client_source_unavailable', clientId: undefined });
});

test('the host decides which apps are allowed, each time', async (t) => {
  const allowed = new Set<string>();
  const seen: unknown[] = [];
  const platform = await startWithDocuments(t, {
    allow: async ({ clientId: url, metadata }) => {
      seen.push({ ...metadata });
      return allowed.has(url);
    },
  });
  const site = await serveDocument(t, {
    client_uri: 'https://agent.example/',
    token_endpoint_auth_method: 'none',
  });
  const page = await refusedPage(t, platform, site.id, { code: 'client_source_refused' });
  t.is(page.heading, 'This app is not allowed here');
  t.deepEqual(seen[0], {
    client_id: site.id,
    client_name: 'Agent',
    redirect_uris: [CALLBACK],
    token_endpoint_auth_method: 'none',
  });
  allowed.add(site.id);
  const answer = await connect(platform, site.id);
  t.is(answer.status, 200);
  allowed.clear();
  await refusedPage(t, platform, site.id, { code: 'client_source_refused' });
  t.is((await refresh(platform, site.id, answer)).status, 200);
});

test('nothing is fetched for an app that the host refuses by its URL', async (t) => {
  let isAllowed = false;
  const asked = new Set<string>();
  const platform = await startWithDocuments(t, {
    async allow({ clientId: url }) {
      asked.add(url);
      return isAllowed;
    },
  });
  const site = await serveDocument(t);
  for (let count = 0; count < 3; count += 1)
    await refusedPage(t, platform, site.id, { code: 'client_source_refused' });
  // Of an id that is no URL of a document it is not asked.
  await refusedPage(t, platform, `${site.id}#x`, { code: 'client_source_invalid' });
  t.is(site.connections(), 0);
  t.deepEqual([...asked], [site.id]);
  isAllowed = true;
  t.is((await connect(platform, site.id)).status, 200);
  // A stored app too: its document is not fresh on a node that has just started.
  isAllowed = false;
  await refusedPage(t, platform, site.id, { code: 'client_source_refused' });
  t.is(site.requests.length, 1);
});

function isKnown(url: string): boolean {
  return new URL(url).pathname.startsWith('/oauth/');
}

test('a policy that reads the document is asked again with it, and nothing is fetched that it refuses before', async (t) => {
  const policies: ReadonlyArray<Parameters<typeof startWithDocuments>[1] & object> = [
    { allow: ({ clientId, metadata }) => isKnown(clientId) && metadata.client_name === 'Agent' },
    { allow: async ({ clientId, metadata: { client_name: name } }) => isKnown(clientId) && name === 'Agent' },
    {
      allow({ clientId, metadata }) {
        try {
          return 'client_name' in metadata && isKnown(clientId) && { ...metadata }.client_name === 'Agent';
        } catch {
          return true;
        }
      },
    },
  ];
  for (const [index, policy] of policies.entries()) {
    const platform = await startWithDocuments(t, policy);
    const site = await serveDocument(t);
    t.is((await connect(platform, site.id)).status, 200);
    const named = await serveDocument(t, { client_name: 'Other' });
    await refusedPage(t, platform, named.id, { code: 'client_source_refused' });
    const elsewhere = await serveDocument(t, {}, { path: '/elsewhere' });
    await refusedPage(t, platform, elsewhere.id, { code: 'client_source_refused' });
    t.is(elsewhere.connections(), index === 0 ? 0 : 1);
  }
});

test('a policy may read the document after its answer: it is empty where nothing was fetched', async (t) => {
  const later = Promise.withResolvers<unknown>();
  const platform = await startWithDocuments(t, {
    allow({ metadata }) {
      setImmediate(() => {
        later.resolve([metadata.client_name, 'client_name' in metadata, { ...metadata }]);
      });
      return true;
    },
  });
  const site = await serveDocument(t);
  t.is((await connect(platform, site.id)).status, 200);
  t.deepEqual(await later.promise, [undefined, false, {}]);
});

test('a policy that fails, or returns something else than true, allows nothing', async (t) => {
  const wrong = await startWithDocuments(t, { allow: (() => 'yes') as unknown as () => boolean });
  const site = await serveDocument(t);
  await refusedPage(t, wrong, site.id, { code: 'client_source_refused' });
  const failing = await startWithDocuments(t, { allow: () => Promise.reject(new Error('no database')) });
  const page = await new Browser().open(requestOf(failing, site.id));
  t.is(page.status, 500);
  t.false(page.html.includes('no database'));
});

test('gets the scopes of the option at most, and the default ones without a scope', async (t) => {
  const platform = await startWithDocuments(t, {
    scopes: ['schools:read', 'schools:write'],
    defaultScopes: ['schools:read'],
  });
  const site = await serveDocument(t, { scope: 'schools:read schools:write everything' });
  const { body } = await connect(platform, site.id, { parameters: { scope: '' } });
  t.is(body.scope, 'schools:read');

  const narrow = await startWithDocuments(t);
  const none = await connect(narrow, site.id, { parameters: { scope: '' } });
  t.is(none.body.scope, undefined);
  t.like(decodeJwt(none.body.access_token), { limited: true });
  t.is((await narrow.api('/schools', none.body.access_token)).status, 403);
  const page = await new Browser().open(requestOf(narrow, site.id, { scope: 'schools:write' }));
  t.regex(page.text, /invalid_scope/);
  const unknown = await new Browser().open(requestOf(narrow, site.id, { scope: 'schools:read unknown' }));
  t.regex(unknown.text, /invalid_scope/);
  // A client that requests all scopes of the metadata gets those that are for it.
  const some = await connect(narrow, site.id, { parameters: { scope: 'schools:write schools:read' } });
  t.is(some.body.scope, 'schools:read');
  const all = await connect(narrow, site.id, { parameters: { scope: '*' } });
  t.like(decodeJwt(all.body.access_token), { limited: true });
});

test('a scope that the option no longer lists is lost by stored apps', async (t) => {
  const storage = memoryStorage();
  const scopes = ['schools:read', 'schools:write'];
  const before = await startWithDocuments(t, { scopes }, { storage });
  const site = await serveDocument(t);
  const answer = await connect(before, site.id, { parameters: { scope: scopes.join(' ') } });
  t.is(answer.body.scope, 'schools:read schools:write');
  const after = await startWithDocuments(t, { scopes: ['schools:read'] }, { storage, issuer: before.origin });
  t.is((await refresh(after, site.id, answer)).body.scope, 'schools:read');
});

test('an app authenticates with the keys of its document, or at a URL, where the server accepts keys', async (t) => {
  const [own, other] = await Promise.all([makeKeyPair(), makeKeyPair()]);
  const METHOD = { token_endpoint_auth_method: 'private_key_jwt' };
  const jwks = { keys: [own.publicJwk] };
  const off = await startWithDocuments(t);
  const { id } = await serveDocument(t, { ...METHOD, jwks });
  await refusedPage(t, off, id, { code: 'client_source_invalid', details: /use none(?! or)/ });

  const platform = await startWithDocuments(t, {}, { clients: { privateKeyJwt: true } });
  const signedBy = (pair: ClientKeyPair, client = id): Parameters<typeof connect>[2] => ({
    authentication: async () => assertionParameters(client, platform.origin, pair),
  });
  t.is((await connect(platform, id, signedBy(own))).status, 200);
  t.like(await platform.auth.clients.find(id), { confidential: true, keys: { jwks } });
  for (const authentication of [{}, signedBy(other)])
    t.like(await connect(platform, id, authentication), { status: 401, body: { error: 'invalid_client' } });

  const site = await serveDocument(t, METHOD);
  const document = { ...site.document, jwks_uri: `${site.origin}/keys` };
  site.answer = (request, response) => json(request.url === '/keys' ? jwks : document)(request, response);
  t.is((await connect(platform, site.id, signedBy(own, site.id))).status, 200);
  t.deepEqual(site.requests, ['/oauth/client.json', '/keys']);

  for (const [members, details] of [
    [{}, /jwks: give/],
    [{ jwks, jwks_uri: 'https://apps.example/keys' }, /jwks: give/],
    [{ jwks: { keys: [] } }, /jwks: /],
    [{ jwks: { keys: [own.privateJwk] } }, /jwks: contains a key that is not public/],
    [{ jwks_uri: 'http://apps.example/keys' }, /jwks_uri: /],
    [{ jwks_uri: 'https://127.0.0.1/keys' }, /jwks_uri: /],
    [{ jwks, redirect_uris: [LOOPBACK] }, /an installed app cannot keep a secret/],
  ] as const) {
    const wrong = await serveDocument(t, { ...METHOD, ...members });
    await refusedPage(t, platform, wrong.id, { code: 'client_source_invalid', details });
  }
});

test('the consent page names the host first, then what the app calls itself, and where it leads', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t, {
    client_name: 'Bank <b>of</b> Ann',
    logo_uri: 'https://agent.example/logo.png',
  });
  const { host } = new URL(site.id);
  const page = await askConsent(new Browser(), requestOf(platform, site.id));
  t.is(page.heading, `Authorize ${host}`);
  t.regex(page.text, new RegExp(`${host} is asking for access to your Acme Schools account`));
  t.regex(page.text, /Nobody has checked this app .* calls its app “ Bank <b>of<\/b> Ann ”/);
  t.regex(page.text, /You will be sent to https:\/\/agent\.example/);
  t.false(page.html.includes('logo.png'));
  t.false(page.html.includes('<b>of'));
  t.notRegex(page.text, /program on the device/);
});

test('a redirect to the device is warned of and asked for each time; a loopback one is free in its port alone', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t, {
    redirect_uris: [LOOPBACK, 'http://localhost:4711/', 'editor://callback'],
  });
  const browser = new Browser();
  const authorize = async (redirect_uri: string): Promise<Page> =>
    askConsent(browser, requestOf(platform, site.id, { redirect_uri }));
  for (const uri of [
    LOOPBACK,
    'http://127.0.0.1:1234/callback',
    'http://localhost:4711/',
    LOOPBACK,
    'editor://callback',
  ]) {
    const page = await authorize(uri);
    t.true(page.html.includes('Authorize</button>'), page.text);
    t.regex(page.text, /a program on the device that you are using/);
    t.is((await connect(platform, site.id, { browser, parameters: { redirect_uri: uri } })).status, 200);
  }
  for (const uri of [
    'http://127.0.0.1/other',
    'http://127.0.0.1/callback?x=1',
    'http://127.0.0.2/callback',
    'http://[::1]/callback',
    'https://127.0.0.1/callback',
    'http://127.0.0.1:1234/callback/',
    'https://evil.example/callback',
  ]) {
    t.regex((await authorize(uri)).text, /invalid_redirect_uri/, uri);
  }
});

test('a document of one user is not a matter of another', async (t) => {
  const platform = await startWithDocuments(t, {}, { tokens: { refreshGrace: 0 } });
  const site = await serveDocument(t);
  const anns = await connect(platform, site.id);
  const browser = new Browser();
  const bobs = await connect(platform, site.id, { browser, person: BOB });
  const list = await browser.open(platform.url('/account/apps'));
  t.regex(list.text, new RegExp(`${new URL(site.id).host} “Agent”`));
  const ask = await browser.open(platform.url(`/account/apps/${encodeURIComponent(site.id)}/revoke`));
  t.true(ask.heading.startsWith(`Disconnect ${new URL(site.id).host} “Agent”`), ask.heading);
  await browser.submit(ask, 'Disconnect');
  t.is((await refresh(platform, site.id, bobs)).body.error, 'invalid_grant');
  const next = await refresh(platform, site.id, anns);
  t.is(next.status, 200);

  // A spent refresh token that is presented again ends its own family alone.
  const bobsNext = await connect(platform, site.id, { person: BOB });
  t.is((await refresh(platform, site.id, next)).status, 200);
  t.is((await refresh(platform, site.id, anns)).body.error, 'invalid_grant');
  t.is((await refresh(platform, site.id, next)).body.error, 'invalid_grant');
  t.is((await refresh(platform, site.id, bobsNext)).status, 200);
});

test('is disabled, enabled and deleted like any app', async (t) => {
  const platform = await startWithDocuments(t);
  const { clients } = platform.auth;
  const site = await serveDocument(t);
  const answer = await connect(platform, site.id);
  await clients.disable(site.id);
  t.is((await platform.api('/identity', answer.body.access_token)).status, 401);
  t.is((await refresh(platform, site.id, answer)).body.error, 'invalid_client');
  await refusedPage(t, platform, site.id, { code: 'invalid_client' });

  // Deleted, it would be known again by its document.
  const error = await t.throwsAsync(clients.delete(site.id), {
    message: /would come back with its next request/,
  });
  t.like(error, { code: 'ERR_CLIENT_INVALID', status: 422 });
  t.true((await clients.find(site.id))?.disabled);

  await clients.enable(site.id);
  t.true(await clients.delete(site.id));
  t.is((await platform.api('/identity', answer.body.access_token)).status, 401);
  t.is((await refresh(platform, site.id, answer)).body.error, 'invalid_client');
  // It is asked for again, and its earlier tokens stay invalid.
  const page = await askConsent(new Browser(), requestOf(platform, site.id));
  t.true(page.html.includes('Authorize</button>'), page.text);
  const again = await connect(platform, site.id);
  t.is(again.status, 200);
  t.is((await platform.api('/identity', again.body.access_token)).status, 200);
  t.is((await platform.api('/identity', answer.body.access_token)).status, 401);
  t.is((await refresh(platform, site.id, answer)).body.error, 'invalid_grant');
});

test('an administrator can limit it, and change nothing that its document says', async (t) => {
  const platform = await startWithDocuments(t);
  const { clients } = platform.auth;
  const site = await serveDocument(t);
  await connect(platform, site.id);
  const changes: ReadonlyArray<readonly [Parameters<typeof clients.update>[1], RegExp]> = [
    [{ name: 'Trusted' }, /name: comes from what describes/],
    [{ redirectUris: ['https://evil.example/'] }, /redirectUris: comes from what describes/],
    [{ confidential: true }, /confidential: comes from/],
    [{ native: true }, /native: comes from/],
    [{ firstParty: true }, /firstParty: nobody has registered this client/],
    [{ scopes: undefined }, /scopes: list the scopes/],
  ];
  for (const [change, message] of changes) await t.throwsAsync(clients.update(site.id, change), { message });
  await clients.update(site.id, { scopes: [], lifetimes: { accessToken: '5 minutes' } });
  const page = await new Browser().open(requestOf(platform, site.id));
  t.regex(page.text, /invalid_scope/);
  // More than the option lists has no effect.
  await clients.update(site.id, { scopes: ['schools:read', 'schools:write'] });
  const more = await new Browser().open(requestOf(platform, site.id, { scope: 'schools:write' }));
  t.regex(more.text, /invalid_scope/);
  const answer = await connect(platform, site.id);
  t.is(answer.body.expires_in, 300);
});

const WITHOUT_DOCUMENTS = {
  'without the feature nothing is fetched, and stored apps get nothing': [],
  'with documents: false nothing is fetched, and stored apps get nothing': [
    agents({ registration: { scopes: [] }, documents: false }),
  ],
};

for (const [title, features] of Object.entries(WITHOUT_DOCUMENTS))
  test(title, async (t) => {
    const storage = memoryStorage();
    const on = await startWithDocuments(t, {}, { storage });
    const site = await serveDocument(t);
    const answer = await connect(on, site.id);
    const off = await startWithDocuments(
      t,
      {},
      {
        storage,
        issuer: on.origin,
        features,
      },
    );
    t.is((await refresh(off, site.id, answer)).body.error, 'invalid_client');
    const url = new URL(requestOf(on, site.id).href.replace(on.origin, off.origin));
    t.regex((await new Browser().get(url)).text, /invalid_client/);
    const other = await serveDocument(t, {}, { path: '/other.json' });
    const unknown = new URL(requestOf(on, other.id).href.replace(on.origin, off.origin));
    t.regex((await new Browser().get(unknown)).text, /invalid_client/);
    t.is(other.connections(), 0);
  });

test('the token endpoint fetches nothing for strangers', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  const ask = async (): Promise<unknown> =>
    (await platform.token({ grant_type: 'refresh_token', client_id: site.id, refresh_token: 'x' })).body
      .error;
  t.is(await ask(), 'invalid_client');
  t.is(site.connections(), 0);
  // Nor does it know an app that no user has consented to.
  await new Browser().open(requestOf(platform, site.id));
  t.is(await ask(), 'invalid_client');
  t.is(await platform.auth.clients.find(site.id), undefined);
});

test('strangers cannot make the server fetch without end, and an app that one user has connected goes on', async (t) => {
  const platform = await startWithDocuments(t);
  const site = await serveDocument(t);
  await connect(platform, site.id);
  let page: Page | undefined;
  for (let number = 0; number < 20; number += 1)
    page = await new Browser().get(requestOf(platform, `${site.at(`h${number}.apps.example`)}/client.json`));
  t.is(site.requests.length, 20);
  t.is(page!.status, 429);
  t.is(page!.heading, 'Too many attempts');
  t.true(Number(page!.response.headers.get('retry-after')) > 200);
  t.is((await connect(platform, site.id, { person: BOB })).status, 200);
});

test('an app whose first consent cannot store it is not authorized, and the consent can be given again', async (t) => {
  const { broken, storage } = breakable();
  const platform = await startWithDocuments(t, {}, { storage });
  const site = await serveDocument(t);
  const browser = new Browser();
  const consent = await askConsent(browser, requestOf(platform, site.id));
  broken.add('clients.insert');
  const failed = await browser.submit(consent, 'Authorize');
  t.deepEqual([failed.status, failed.location], [503, undefined]);
  t.deepEqual(await storage.consents.list('1'), []);
  broken.clear();
  const answer = await browser.follow(await browser.submit(consent, 'Authorize'));
  t.true(answer.location?.searchParams.has('code'));
});
