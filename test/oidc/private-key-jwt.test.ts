import { UnsecuredJWT, SignJWT } from 'jose';
import test from '../harness/test.ts';
import type { Client } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { like } from '../harness/like.ts';
import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import type { Answer } from '../harness/requests.ts';
import { ASSERTION_TYPE, assertionParameters, makeKeyPair } from '../harness/client-keys.ts';
import type { Claims, ClientKeyPair } from '../harness/client-keys.ts';
import { shared } from '../harness/shared.ts';
import { invalid, outline } from './token-platform.ts';

const started = shared(async (stack) => {
  // The tests share an address.
  const server = stack.use(
    await startPlatform({
      clients: { privateKeyJwt: true },
      limits: { attempts: { clientAuthentication: false } },
    }),
  );
  const pair = await makeKeyPair();
  const client = await register(server, pair);
  return { server, pair, client };
});

/** Registers a client with the public keys of pairs. */
async function register(at: Platform, ...pairs: readonly ClientKeyPair[]): Promise<Client> {
  const keys = { jwks: { keys: pairs.map(({ publicJwk }) => publicJwk) } };
  return (await at.auth.clients.create({ name: 'Nightly', grantType: 'client_credentials', keys })).client;
}

const UNVERIFIED =
  'no key of the client verifies the client assertion; check the client_id (iss and sub), the key id (kid) and the registered keys';

const USED = 'the client assertion was used before; make a new one, with a new jti, for each request';

async function ask(fields: Record<string, string>, at?: Platform): Promise<Answer> {
  const { server } = await started();
  return postForm((at ?? server).url('/oauth/token'), { grant_type: 'client_credentials', ...fields });
}

async function tokenWith(
  claims: Claims = {},
  { by, id, at }: { by?: ClientKeyPair; id?: string; at?: Platform } = {},
): Promise<Answer> {
  const { pair, server, client } = await started();
  return ask(
    await assertionParameters(id ?? client.id, (at ?? server).auth.issuer, by ?? pair, claims),
    at ?? server,
  );
}

function refused(description: string): object {
  return { status: 401, body: { error: 'invalid_client', error_description: description } };
}

const now = (): number => Math.floor(Date.now() / 1000);

test('a client with a key gets a token with an assertion, in a form and in JSON', async (t) => {
  const { server, client, pair } = await started();
  t.deepEqual(await server.auth.clients.secrets(client.id), [], 'it has no secret');
  t.is((await tokenWith()).status, 200);
  const parameters = await assertionParameters(client.id, server.auth.issuer, pair);
  const json = await server.token({ grant_type: 'client_credentials', ...parameters });
  t.is(json.status, 200);
  const { status, body } = await server.api('/identity', json.body.access_token);
  t.is(status, 200);
  t.like(body, { data: { type: 'client', id: client.id } });
});

test('the metadata offers private_key_jwt and its algorithms, none of them symmetric, only when switched on', async (t) => {
  const { server } = await started();
  const path = '/.well-known/oauth-authorization-server';
  const { body: on } = await send(server.url(path));
  for (const endpoint of ['token', 'revocation', 'introspection']) {
    const algorithms = on?.[`${endpoint}_endpoint_auth_signing_alg_values_supported`] as string[];
    t.deepEqual(
      algorithms.toSorted(),
      'ES256 ES384 ES512 Ed25519 EdDSA PS256 PS384 PS512 RS256 RS384 RS512'.split(' ').toSorted(),
    );
    const methods = on?.[`${endpoint}_endpoint_auth_methods_supported`] as string[];
    t.true(methods.includes('private_key_jwt'), endpoint);
  }
  await using off = await startPlatform();
  t.notRegex((await send(off.url(path))).text, /private_key_jwt|signing_alg/);
});

test('a server without the option registers no keys, and accepts none of those that are stored', async (t) => {
  const { pair } = await started();
  await using off = await startPlatform();
  const keys = { jwks: { keys: [pair.publicJwk] } };
  await t.throwsAsync(off.auth.clients.create({ name: 'Keys', grantType: 'client_credentials', keys }), {
    code: 'ERR_CLIENT_INVALID',
    message: 'keys: this server accepts no keys of clients; switch on its option clients.privateKeyJwt',
  });
  const { client: service } = await off.registerService();
  const answer = await tokenWith({}, { at: off, id: service.id });
  t.is(answer.status, 400);
  t.is(answer.body?.['error'], 'invalid_request');
});

test('assertions are signed with algorithms of each kind', async (t) => {
  const { server } = await started();
  for (const algorithm of 'ES384 ES512 Ed25519 EdDSA PS256 RS384'.split(' ')) {
    const by = await makeKeyPair(algorithm, algorithm);
    t.is((await tokenWith({}, { by, id: (await register(server, by)).id })).status, 200, algorithm);
  }
});

/** The pair with another key id, or with none. */
function named(by: ClientKeyPair, kid?: string): ClientKeyPair {
  const { kid: _, ...publicJwk } = by.publicJwk;
  return { ...by, publicJwk: { ...publicJwk, ...(kid !== undefined && { kid }) } };
}

test('an assertion needs no key id where the client has one key', async (t) => {
  const { server } = await started();
  for (const kid of ['key-1', null]) {
    const by = await makeKeyPair(kid);
    const { id } = await register(server, by);
    t.is((await tokenWith({}, { by: named(by), id })).status, 200);
    t.deepEqual(outline(await tokenWith({}, { by: named(by, 'another'), id })), refused(UNVERIFIED));
  }
});

test('of several keys each has a key id, with which an assertion names it', async (t) => {
  const { server } = await started();
  const [first, second] = [await makeKeyPair('first'), await makeKeyPair('second', 'RS256')];
  const error = await t.throwsAsync(register(server, first, await makeKeyPair(null, 'ES384')), {
    code: 'ERR_CLIENT_INVALID',
    message: 'keys.jwks: with several keys, give each a kid of its own, which assertions name',
  });
  like(t, error, { fields: [{ code: 'key_id_missing' }] });

  const { id } = await register(server, first, second);
  for (const by of [first, second]) {
    t.is((await tokenWith({}, { by, id })).status, 200);
    t.deepEqual(outline(await tokenWith({}, { by: named(by), id })), refused(UNVERIFIED));
  }
  const [record] = await server.auth.audit.list({ types: ['token_refused'], clientId: id });
  t.like(record, { reason: 'the client has several keys, and the client assertion has no kid' });
});

test('a client that was stored with keys without ids keeps its other fields changeable', async (t) => {
  const storage = memoryStorage();
  await using platform = await startPlatform({ storage, clients: { privateKeyJwt: true } });
  const { client: app } = await platform.registerService();
  const keys = [await makeKeyPair(null), await makeKeyPair(null)].map(({ publicJwk }) => publicJwk);
  const stored = { ...app, keys: { jwks: { keys: keys as Array<Record<string, unknown>> } } };
  t.true(await storage.clients.update(stored, app.updatedAt));
  const { clients } = platform.auth;
  t.is((await clients.update(app.id, { name: 'Renamed' })).name, 'Renamed');
  await t.throwsAsync(clients.update(app.id, { keys: { jwks: { keys: keys.toReversed() } } }), {
    message: /with several keys, give each a kid/,
  });
});

test('an assertion is accepted once, and its second use is told apart', async (t) => {
  const { client, server, pair } = await started();
  const parameters = await assertionParameters(client.id, server.auth.issuer, pair);
  const fields = { grant_type: 'client_credentials', ...parameters };
  t.is((await postForm(server.url('/oauth/token'), fields)).status, 200);
  for (const path of ['/oauth/token', '/oauth/introspect', '/oauth/revoke']) {
    const answer = await postForm(server.url(path), { ...fields, token: 'x' });
    t.deepEqual(outline(answer), refused(USED), path);
  }
  const jti = { jti: 'the same' };
  t.is((await tokenWith(jti)).status, 200);
  t.is((await tokenWith({ ...jti, exp: now() + 90 })).status, 401);
  t.is((await tokenWith(jti, { id: (await register(server, pair)).id })).status, 200, 'of another client');
});

// Authlib makes assertions for an hour.
test.serial('an assertion is accepted once for the whole hour that it lasts', async (t) => {
  const { server } = await started();
  const claims = { jti: 'of an hour', exp: now() + 3600 };
  t.is((await tokenWith(claims)).status, 200);
  for (const minutes of [11, 48]) {
    passTime(minutes * 60);
    await server.auth.prune();
    t.like((await tokenWith(claims)).body, { error_description: USED });
  }
  passTime(2 * 60);
  t.like((await tokenWith(claims)).body, { error: 'invalid_client' });
});

test('an assertion is refused, and told why, also to a client that does not exist', async (t) => {
  const { server, client } = await started();
  const audience = `the aud of the client assertion is ${server.origin}`;
  const late = 'the client assertion expires too late; its exp is at most an hour ahead';
  const mistakes: readonly (readonly [Claims, string])[] = [
    [
      { exp: now() - 60 },
      'the client assertion has expired (exp); make a new one for each request, and check the clock of the client',
    ],
    [{ exp: now() + 3660 }, late],
    [{ exp: 1e300 }, late],
    [{ exp: undefined }, 'the client assertion has an exp, a time within the next hour'],
    [{ nbf: now() + 120 }, 'the client assertion is not valid yet (nbf); check the clock of the client'],
    [{ jti: undefined }, 'the client assertion has a jti, a new one for each request'],
    [{ aud: undefined }, audience],
    [{ aud: 'https://other.example' }, audience],
    [{ aud: [server.origin, 'https://other.example'] }, audience],
    [{ iss: 'other' }, 'the iss and the sub of the client assertion are the client_id'],
  ];
  for (const [claims, description] of mistakes)
    for (const id of [client.id, 'unknown'])
      t.deepEqual(outline(await tokenWith(claims, { id })), refused(description), JSON.stringify(claims));
});

test('clocks of clients may differ by some seconds', async (t) => {
  t.is((await tokenWith({ nbf: now() + 8, iat: now() + 8 })).status, 200);
  t.is((await tokenWith({ exp: now() - 5 })).status, 200);
  t.is((await tokenWith({ exp: now() + 3610 })).status, 200);
});

test('the issuer, the token endpoint and the called endpoint are accepted as the audience', async (t) => {
  const { server, client, pair } = await started();
  const { issuer } = server.auth;
  for (const aud of [issuer, `${issuer}/oauth/token`, [issuer], [issuer, `${issuer}/oauth/token`]])
    t.is((await tokenWith({ aud })).status, 200, String(aud));
  const token = String((await tokenWith()).body?.['access_token']);
  const path = '/oauth/introspect';
  for (const aud of [issuer, `${issuer}${path}`, `${issuer}/oauth/token`]) {
    const parameters = await assertionParameters(client.id, issuer, pair, { aud });
    const answer = await postForm(server.url(path), { token, ...parameters });
    t.like(answer, { status: 200, body: { active: true } });
  }
  const revocation = await assertionParameters(client.id, issuer, pair);
  t.is((await postForm(server.url('/oauth/revoke'), { token, ...revocation })).status, 200);
  const last = await assertionParameters(client.id, issuer, pair);
  t.deepEqual((await postForm(server.url(path), { token, ...last })).body, { active: false });
});

test('a wrong key, an unknown key id and an unknown client get the same response', async (t) => {
  const { server, pair } = await started();
  const stranger = await makeKeyPair();
  const unknownId = await makeKeyPair('unknown');
  const disabled = await register(server, pair);
  await server.auth.clients.disable(disabled.id);
  const withSecret = await server.registerService();
  const publicApp = await server.registerApp({ confidential: false });
  for (const given of [
    { by: stranger },
    { by: unknownId },
    { id: 'unknown' },
    { id: disabled.id },
    { id: withSecret.client.id },
    { id: publicApp.client.id },
  ])
    t.deepEqual(outline(await tokenWith({}, given)), refused(UNVERIFIED));
  const records = await server.auth.audit.list({ types: ['token_refused'] });
  const reasons = new Set(records.map((record) => ('reason' in record ? record.reason : undefined)));
  for (const reason of [
    'the signature of the client assertion does not belong to a key of the client',
    'the client has no key with the kid of the client assertion',
    'client not found',
    'the app is disabled',
    'the client has no keys',
  ])
    t.true(reasons.has(reason), reason);
});

test('symmetric and absent signatures are refused', async (t) => {
  const { client, server, pair } = await started();
  const claims = { iss: client.id, sub: client.id, aud: server.origin, jti: 'forged', exp: now() + 60 };
  const jwk = JSON.stringify(pair.publicJwk);
  const assertions = [
    new UnsecuredJWT(claims).encode(),
    await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(jwk.padEnd(64))),
  ];
  for (const client_assertion of assertions) {
    const answer = await ask({ client_assertion_type: ASSERTION_TYPE, client_assertion });
    t.is(answer.status, 401);
    t.regex(String(answer.body?.['error_description']), /^sign the client assertion with one of RS256, /);
  }
});

test('malformed assertions get a 4xx that says what is wrong', async (t) => {
  const { client, server, pair } = await started();
  const { client_assertion } = await assertionParameters(client.id, server.auth.issuer, pair);
  const type = { client_assertion_type: ASSERTION_TYPE };
  for (const [fields, description] of [
    [{ ...type, client_assertion: 'x' }, 'invalid client_assertion format'],
    [{ ...type, client_assertion: 'a.b.c' }, 'invalid client_assertion format'],
    [{ client_assertion }, 'client_assertion_type must be provided'],
    [
      { client_assertion, client_assertion_type: 'x' },
      `client_assertion_type must have value ${ASSERTION_TYPE}`,
    ],
    [{ ...type, client_assertion, client_id: 'other' }, 'client_id mismatch'],
    [
      { ...type, client_assertion, client_secret: 'x' },
      'client authentication must only be provided using one mechanism',
    ],
  ] as const)
    t.deepEqual(outline(await ask(fields)), invalid(description));
});

test('a client changes from a secret to keys and back without a break', async (t) => {
  const { server, pair } = await started();
  const service = await server.registerService();
  const { clients } = server.auth;
  const { id } = service.client;
  const bySecret = async (secret: string): Promise<number> =>
    (await server.token({ grant_type: 'client_credentials', client_id: id, client_secret: secret })).status;
  const byKey = async (by = pair): Promise<number> => (await tokenWith({}, { id, by })).status;

  t.deepEqual([await bySecret(service.secret), await byKey()], [200, 401]);
  await clients.update(id, { keys: { jwks: { keys: [pair.publicJwk] } } });
  t.deepEqual([await bySecret(service.secret), await byKey()], [200, 200]);
  const [first] = await clients.secrets(id);
  await clients.deleteSecret(id, first!.id);
  t.deepEqual([await bySecret(service.secret), await byKey()], [401, 200]);

  const next = await makeKeyPair('key-2');
  await clients.update(id, { keys: { jwks: { keys: [pair.publicJwk, next.publicJwk] } } });
  t.deepEqual([await byKey(), await byKey(next)], [200, 200]);
  await clients.update(id, { keys: { jwks: { keys: [next.publicJwk] } } });
  t.deepEqual([await byKey(), await byKey(next)], [401, 200]);

  const { value } = await clients.addSecret(id);
  t.deepEqual([await bySecret(value), await byKey(next)], [200, 200]);
  await clients.update(id, { keys: undefined });
  t.deepEqual([await bySecret(value), await byKey(next)], [200, 401]);
});
