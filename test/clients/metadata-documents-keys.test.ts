import test from 'ava';

import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import type { ClientKeyPair } from '../harness/client-keys.ts';
import { json } from '../harness/public-server.ts';
import type { Platform } from '../harness/platform.ts';
import { connect, requestOf, serveApp, startWithDocuments } from './documents.ts';
import { Browser } from '../harness/browser.ts';

const METHOD = { token_endpoint_auth_method: 'private_key_jwt' };

const signedWith = (platform: Platform, id: string, pair: ClientKeyPair) => ({
  authentication: async () => assertionParameters(id, platform.auth.issuer, pair),
});

test('an app whose document has public keys authenticates with them, and with nothing else', async (t) => {
  const platform = await startWithDocuments(t, {}, { clients: { keys: true } });
  const [own, other] = await Promise.all([makeKeyPair(), makeKeyPair()]);
  const { id } = await serveApp(t, { ...METHOD, jwks: { keys: [own.publicJwk] } });
  t.is((await connect(platform, id, signedWith(platform, id, own))).status, 200);
  for (const options of [{}, signedWith(platform, id, other)]) {
    const { body, status } = await connect(platform, id, options);
    t.is(status, 401);
    t.like(body, { error: 'invalid_client' });
  }
  t.like(await platform.auth.clients.find(id), {
    registration: 'metadata_document',
    confidential: true,
    keys: { jwks: { keys: [{ kid: 'key-1' }] } },
  });
});

test('the keys can be at a URL, which is fetched when the app authenticates', async (t) => {
  const platform = await startWithDocuments(t, {}, { clients: { keys: true } });
  const pair = await makeKeyPair();
  const site = await serveApp(t, { ...METHOD });
  const document = { ...site.document, jwks_uri: `${site.origin}/keys` };
  site.answer = (request, response) =>
    json(request.url === '/keys' ? { keys: [pair.publicJwk] } : document)(request, response);
  t.is((await connect(platform, site.id, signedWith(platform, site.id, pair))).status, 200);
  t.deepEqual(site.requests, ['/oauth/client.json', '/keys']);
});

test('a document whose keys cannot be used is refused', async (t) => {
  const platform = await startWithDocuments(t, {}, { clients: { keys: true } });
  const { privateJwk, publicJwk } = await makeKeyPair();
  const cases: ReadonlyArray<readonly [Record<string, unknown>, RegExp]> = [
    [{}, /jwks: give/],
    [{ jwks: { keys: [publicJwk] }, jwks_uri: 'https://apps.example/keys' }, /jwks: give/],
    [{ jwks: { keys: [] } }, /jwks: /],
    [{ jwks: { keys: [privateJwk] } }, /jwks: contains a key that is not public/],
    [{ jwks_uri: 'http://apps.example/keys' }, /jwks_uri: /],
    [{ jwks_uri: 'https://127.0.0.1/keys' }, /jwks_uri: /],
  ];
  for (const [members, details] of cases) {
    const { id } = await serveApp(t, { ...METHOD, ...members });
    const page = await new Browser().open(requestOf(platform, id));
    t.is(page.status, 400);
    t.regex(page.text, details);
  }
});
