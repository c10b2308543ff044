// The keys of issuers: where they are found, how they change, what happens while they cannot be read, and that strangers cause no fetch.
import type { RequestListener } from 'node:http';

import test from '../harness/test.ts';

import { assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import type { ClientKeyPair } from '../harness/client-keys.ts';
import { passTime } from '../harness/clock.ts';
import { json, ON_LOOPBACK, servePublic } from '../harness/public-server.ts';
import type { PublicServer } from '../harness/public-server.ts';
import { serve } from '../harness/serve.ts';
import { until } from '../harness/until.ts';
import {
  idJag,
  issuerKeys,
  JWT_BEARER,
  lastReason,
  present,
  REFUSED,
  startTrusted,
} from './identity-provider.ts';

/** The site of an issuer. A test changes its documents; `held` ones are answered when it says so. */
interface Site extends PublicServer {
  readonly issuer: string;
  readonly documents: Map<string, unknown>;
  readonly held: (() => void)[];
}

function documentsOf(documents: Site['documents'], held: Site['held']): RequestListener {
  return (request, response) => {
    const document = documents.get(request.url!);
    if (document === 'held') held.push(() => response.end());
    else if (document === undefined) response.writeHead(404).end();
    else json(document)(request, response);
  };
}

async function serveIssuer(path = ''): Promise<Site> {
  const documents: Site['documents'] = new Map();
  const held: Site['held'] = [];
  const site = await servePublic(documentsOf(documents, held));
  return Object.assign(site, { documents, held, issuer: site.origin + path });
}

const keysOf = (...pairs: readonly ClientKeyPair[]): object => ({
  keys: pairs.map(({ publicJwk }) => publicJwk),
});
const entry = { profile: 'id-jag', scopes: ['schools:read'], findUser: () => ({ id: '1' }) } as const;

for (const [name, where] of [
  ['RFC 8414', '/.well-known/oauth-authorization-server/tenant'],
  ['OpenID Connect Discovery', '/tenant/.well-known/openid-configuration'],
] as const)
  test(`keys are found by the metadata (${name}), fetched once, and changed`, async (t) => {
    await using site = await serveIssuer('/tenant');
    const { documents, issuer, requests } = site;
    documents.set(where, { issuer, jwks_uri: `${site.origin}/keys` });
    documents.set('/keys', keysOf(await issuerKeys()));
    await using platform = await startTrusted({ more: { [issuer]: entry } }, {}, ON_LOOPBACK);
    const app = await platform.registerApp();
    const by = async (pair: ClientKeyPair) =>
      present(platform, app, await idJag(platform, app, { iss: issuer }, { pair }));
    for (let count = 0; count < 3; count += 1) t.is((await by(await issuerKeys())).status, 200);
    t.deepEqual(
      requests.filter((one) => one === '/keys' || one === where),
      [where, '/keys'],
    );

    // A new key is used at once, but that the keys are fetched once in a minute.
    const next = await makeKeyPair('key-2');
    documents.set('/keys', keysOf(await issuerKeys(), next));
    t.like((await by(next)).body, REFUSED);
    t.is(await lastReason(platform), 'the issuer has no key with the kid of the assertion');
    passTime(61);
    t.is((await by(next)).status, 200);
    t.is((await by(await issuerKeys())).status, 200);
    // A key that was withdrawn is refused within five minutes.
    documents.set('/keys', keysOf(next));
    passTime(301);
    t.is((await by(next)).status, 200);
    t.like((await by(await issuerKeys())).body, REFUSED);
    t.is(await lastReason(platform), 'the issuer has no key with the kid of the assertion');
  });

test('of several keys, an assertion names one, and its algorithm is that of the key', async (t) => {
  const single = await issuerKeys();
  const [rsa, nameless] = [await makeKeyPair('issuer-2', 'RS256'), await makeKeyPair(null)];
  const ofRsa = { ...rsa.publicJwk, alg: 'PS256' };
  await using platform = await startTrusted({
    more: {
      'https://two.example': { ...entry, keys: { keys: [single.publicJwk, ofRsa] } },
      'https://one.example': { ...entry, keys: { keys: [nameless.publicJwk] } },
    },
  });
  const app = await platform.registerApp();
  const ask = async (iss: string, signing: Parameters<typeof idJag>[3]) =>
    present(platform, app, await idJag(platform, app, { iss }, signing));
  t.is((await ask('https://two.example', { pair: single })).status, 200);
  t.like((await ask('https://two.example', { pair: single, header: { kid: undefined } })).body, REFUSED);
  t.is(await lastReason(platform), 'the issuer has several keys, and the assertion has no kid');
  // The key is for PS256 alone.
  t.like((await ask('https://two.example', { pair: rsa })).body, REFUSED);
  t.is(await lastReason(platform), 'the signature is not that of the key of the issuer');
  t.is((await ask('https://one.example', { pair: nameless })).status, 200);
});

test('503 while the keys cannot be read, by which the assertion is not spent', async (t) => {
  await using site = await serveIssuer();
  const { documents, issuer } = site;
  const jwks_uri = `${site.origin}/keys`;
  await using platform = await startTrusted({ more: { [issuer]: entry } }, {}, ON_LOOPBACK);
  const app = await platform.registerApp();
  const assertion = await idJag(platform, app, { iss: issuer });
  const unavailable = async (): Promise<string | undefined> => {
    const { body, headers, status } = await present(platform, app, assertion);
    t.is(status, 503);
    t.is(body.error, 'temporarily_unavailable');
    t.is(body.error_description, 'the keys of the issuer of the assertion cannot be read now');
    t.true(Number(headers.get('retry-after')) > 0);
    return lastReason(platform);
  };
  t.regex((await unavailable()) ?? '', /^the keys of the trusted issuer https:.* cannot be read: /);
  // The metadata of another issuer, which names this one's keys.
  documents.set('/.well-known/openid-configuration', { issuer: 'https://other.example', jwks_uri });
  documents.set('/keys', keysOf(await issuerKeys()));
  passTime(61);
  await unavailable();
  // Metadata without keys, and keys that are none.
  documents.set('/.well-known/openid-configuration', { issuer });
  passTime(61);
  await unavailable();
  documents.set('/.well-known/openid-configuration', { issuer, jwks_uri });
  passTime(61);
  t.is((await present(platform, app, assertion)).status, 200);
  // The site is away again: the keys go on for a while.
  documents.clear();
  passTime(400);
  t.is((await present(platform, app, await idJag(platform, app, { iss: issuer }))).status, 200);
});

test('nothing is fetched for an issuer that is not trusted, whatever its assertion names', async (t) => {
  await using site = await serveIssuer();
  await using platform = await startTrusted({ more: { 'https://other.example': entry } }, {}, ON_LOOPBACK);
  const app = await platform.registerApp();
  const header = {
    jku: `${site.origin}/keys`,
    x5u: `${site.origin}/keys`,
    jwk: (await issuerKeys()).publicJwk,
  };
  for (const iss of [site.origin, `${site.origin}/`, 'https://other.example.apps.example'])
    t.is((await present(platform, app, await idJag(platform, app, { iss }, { header }))).status, 400, iss);
  t.deepEqual(site.requests, []);
  t.is(site.connections(), 0);
});

test('the keys of issuers are fetched while those of clients take all their places', async (t) => {
  await using site = await serveIssuer();
  const { documents, held, issuer } = site;
  documents.set('/keys', keysOf(await issuerKeys()));
  for (const path of ['/slow-1', '/slow-2']) documents.set(path, 'held');
  await using platform = await startTrusted(
    { more: { [issuer]: { ...entry, keys: `${site.origin}/keys` } } },
    { clients: { privateKeyJwt: true } },
    ON_LOOPBACK,
  );
  const app = await platform.registerApp();
  const pair = await makeKeyPair();
  const slow = ['/slow-1', '/slow-2'].map(async (path) => {
    const { client } = await platform.registerApp({ keys: { jwksUri: site.origin + path } });
    return platform.token({
      grant_type: JWT_BEARER,
      client_id: client.id,
      assertion: 'x',
      ...(await assertionParameters(client.id, platform.auth.issuer, pair)),
    });
  });
  await until(() => held.length === 2);
  t.is((await present(platform, app, await idJag(platform, app, { iss: issuer }))).status, 200);
  t.is(held.length, 2, 'they still wait');
  for (const answer of held) answer();
  await Promise.all(slow);
});

test('an issuer on loopback, where its entry says so', async (t) => {
  const keys = keysOf(await issuerKeys());
  await using site = await serve((issuer) =>
    documentsOf(
      new Map([
        ['/.well-known/openid-configuration', { issuer, jwks_uri: `${issuer}/keys` }],
        ['/keys', keys],
      ]),
      [],
    ),
  );
  const { origin: issuer } = site;
  await t.throwsAsync(startTrusted({ more: { [issuer]: entry } }), {
    code: 'ERR_CONFIG',
    message: /name the issuer by its https URL/,
  });
  await using platform = await startTrusted({ more: { [issuer]: { ...entry, loopback: true } } });
  const app = await platform.registerApp();
  t.is((await present(platform, app, await idJag(platform, app, { iss: issuer }))).status, 200);
});
