import { createHmac, createPublicKey, randomUUID } from 'node:crypto';

import {
  SignJWT,
  UnsecuredJWT,
  decodeJwt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  importJWK,
} from 'jose';
import type { JWK } from 'jose';
import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, runCodeFlow, signIn, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { requestClientToken } from '../harness/tokens.ts';

const storage = memoryStorage();
const platform = await startPlatform({ storage });
const app = await platform.registerApp({ firstParty: true });
const service = await platform.registerService(['view_schools']);
const before = Math.floor(Date.now() / 1000);
const { body: ofUser } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
const after = Date.now() / 1000;
const { body: ofClient } = await requestClientToken(platform, service);
const published = (await send(`${platform.origin}/oauth/jwks`)).body?.['keys'] as JWK[];
// The key of the server, so that the tests below show the other checks and not only that of the signature.
const [stored] = await storage.keys.list('token');
const privateKey = await importJWK(JSON.parse(stored!.material) as JWK, 'ES256');
test.after.always(() => platform[Symbol.asyncDispose]());

const claims = decodeJwt(ofUser.access_token);
const header = { alg: 'ES256', typ: 'at+jwt', kid: published[0]!.kid! };

async function sign(
  changes: Record<string, unknown> = {},
  headerChanges: object = {},
  key: Parameters<SignJWT['sign']>[0] = privateKey,
): Promise<string> {
  const payload = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  );
  return new SignJWT(payload).setProtectedHeader({ ...header, ...headerChanges }).sign(key);
}

async function answerTo(token: string): Promise<{ status: number; code: unknown; challenge: string | null }> {
  const { status, body, headers } = await platform.api('/identity', token);
  return { status, code: body['code'], challenge: headers.get('www-authenticate') };
}

async function isRefused(token: string): Promise<boolean> {
  const { status, code, challenge } = await answerTo(token);
  return (
    status === 401 &&
    (code === 'token_invalid' || code === 'token_malformed') &&
    (challenge ?? '').startsWith(
      `Bearer realm="${platform.origin}", error="invalid_token", error_description="`,
    )
  );
}

test.serial('a token is accepted for a year, plus the tolerance for clocks', async (t) => {
  const { body } = await runCodeFlow(platform, app);
  passTime(31_536_000 - 10);
  t.teardown(() => passTime(-31_536_020));
  t.is((await answerTo(body.access_token)).status, 200);
  passTime(30);
  t.deepEqual(await answerTo(body.access_token), {
    status: 401,
    code: 'token_invalid',
    challenge: `Bearer realm="${platform.origin}", error="invalid_token", error_description="The access token has expired, or was not issued by this server for this API."`,
  });
});

test('a token of a user has the claims of RFC 9068 and principal "user"', (t) => {
  t.deepEqual(decodeProtectedHeader(ofUser.access_token), header);
  const { iat, exp, jti, grant_id: grantId, ...rest } = decodeJwt(ofUser.access_token);
  t.deepEqual(rest, {
    iss: platform.origin,
    aud: platform.origin,
    sub: '1',
    client_id: app.client.id,
    scope: 'schools:read',
    principal: 'user',
  });
  t.is(exp! - iat!, 31_536_000);
  t.is(exp! - iat!, ofUser.expires_in);
  t.true(iat! >= before && iat! <= after);
  t.regex(jti!, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  t.regex(grantId as string, /^[\w-]{36}$/);
});

test('a token of a client has the claims of RFC 9068 and principal "client"', (t) => {
  t.deepEqual(decodeProtectedHeader(ofClient.access_token), header);
  const { iat: _iat, exp: _exp, jti, ...rest } = decodeJwt(ofClient.access_token);
  t.deepEqual(rest, {
    iss: platform.origin,
    aud: platform.origin,
    sub: service.client.id,
    client_id: service.client.id,
    principal: 'client',
  });
  t.regex(jti!, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
});

test('published keys have no private members, and a kid each', (t) => {
  t.is(published.length, 1);
  for (const key of published) {
    t.deepEqual(Object.keys(key).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    t.like(key, { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
  }
  t.is(new Set(published.map(({ kid }) => kid)).size, published.length);
});

test('signingAlgorithm makes RS256 and EdDSA keys and tokens', async (t) => {
  for (const [signingAlgorithm, members] of [
    ['RS256', ['alg', 'e', 'kid', 'kty', 'n', 'use']],
    ['EdDSA', ['alg', 'crv', 'kid', 'kty', 'use', 'x']],
  ] as const) {
    await using other = await startPlatform({ tokens: { algorithm: signingAlgorithm } });
    const one = await other.registerService();
    const { body } = await requestClientToken(other, one);
    t.like(decodeProtectedHeader(body.access_token), { alg: signingAlgorithm, typ: 'at+jwt' });
    t.is((await other.api('/identity', body.access_token)).status, 200);
    const { body: set } = await send(`${other.origin}/oauth/jwks`);
    const [key] = (set as { keys: [JWK] }).keys;
    t.deepEqual(Object.keys(key).toSorted(), [...members]);
    if (key.n) t.true(Buffer.from(key.n, 'base64url').length >= 256);
    t.true(await isRefused(body.access_token), 'another server refuses it');
  }
});

test('a token that the test signs with the same claims is accepted', async (t) => {
  t.is((await answerTo(await sign())).status, 200);
});

test('the algorithm none is refused, in any spelling', async (t) => {
  const payload = ofUser.access_token.split('.')[1]!;
  const unsecured = new UnsecuredJWT(claims).encode();
  t.true(await isRefused(unsecured));
  for (const alg of ['none', 'None', 'NONE', 'nOnE', '', undefined, null, []]) {
    const head = Buffer.from(JSON.stringify({ ...header, alg })).toString('base64url');
    for (const signature of ['', ofUser.access_token.split('.')[2]!, 'AA']) {
      t.true(await isRefused(`${head}.${payload}.${signature}`), `${String(alg)} ${signature}`);
    }
  }
});

test('an HMAC with the public key as secret is refused', async (t) => {
  const payload = ofUser.access_token.split('.')[1]!;
  const [jwk] = published;
  const key = createPublicKey({ key: jwk as never, format: 'jwk' });
  const secrets: (string | Buffer)[] = [
    key.export({ type: 'spki', format: 'pem' }),
    key.export({ type: 'spki', format: 'der' }),
    JSON.stringify(jwk),
    jwk!.x!,
    Buffer.from(jwk!.x!, 'base64url'),
    jwk!.kid!,
    '',
  ];
  for (const [alg, digest] of [
    ['HS256', 'sha256'],
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
  ] as const) {
    for (const secret of secrets) {
      const head = Buffer.from(JSON.stringify({ ...header, alg })).toString('base64url');
      const signature = createHmac(digest, secret).update(`${head}.${payload}`).digest('base64url');
      t.true(await isRefused(`${head}.${payload}.${signature}`), alg);
    }
  }
});

test('a signature of another key is refused, and keys in the header are not used', async (t) => {
  const { privateKey: foreign, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  for (const more of [
    {},
    { kid: undefined },
    { kid: 'other' },
    { jwk },
    { jwk, kid: undefined },
    { jku: `${platform.origin}/never-fetched` },
    { jku: 'https://evil.example/jwks', kid: 'evil' },
    { x5u: 'https://evil.example/cert' },
    { x5c: ['MIIB'] },
    { kid: '../../../../dev/null' },
    { kid: "' or 1=1 --" },
    { kid: '__proto__' },
  ]) {
    t.true(await isRefused(await sign({}, more, foreign)), JSON.stringify(more));
  }
  const { privateKey: rsa } = await generateKeyPair('RS256', { extractable: true });
  t.true(await isRefused(await sign({}, { alg: 'RS256' }, rsa)));
});

test('other values of typ, crit, b64 and kid are refused', async (t) => {
  for (const more of [
    { typ: 'JWT' },
    { typ: 'at+JWT2' },
    { typ: undefined },
    { typ: 'dpop+jwt' },
    { crit: ['x'], x: 1 },
    { b64: false, crit: ['b64'] },
    { kid: 'unknown' },
  ]) {
    let token;
    try {
      token = await sign({}, more);
    } catch {
      continue;
    }
    t.true(await isRefused(token), JSON.stringify(more));
  }
});

test('wrong and missing claims are refused', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  for (const changes of [
    { iss: 'https://evil.example' },
    { iss: `${platform.origin}/` },
    { iss: undefined },
    { aud: 'https://evil.example' },
    { aud: `${platform.origin}/` },
    { aud: ['https://evil.example', platform.origin] },
    { aud: [platform.origin] },
    { aud: undefined },
    { exp: now - 1 },
    { exp: 0 },
    { exp: String(now + 1000) },
    { exp: undefined },
    { nbf: now + 1000 },
    { iat: undefined },
    { sub: undefined },
    { sub: '' },
    { sub: 1 },
    { sub: ['1'] },
    { sub: null },
    { client_id: undefined },
    { client_id: '' },
    { client_id: {} },
    { jti: undefined },
    { jti: 1 },
    { scope: ['schools:read'] },
    { scope: {} },
    { principal: undefined },
    { principal: 'admin' },
    { principal: true },
    { principal: 'client' },
    { grant_id: undefined },
    { grant_id: 1 },
  ]) {
    t.true(await isRefused(await sign(changes)), JSON.stringify(changes));
  }
});

test('a token of a user or a client that does not exist is refused with token_holder_gone', async (t) => {
  for (const changes of [{ sub: 'unknown' }, { client_id: randomUUID() }, { client_id: '__proto__' }]) {
    t.deepEqual(
      { ...(await answerTo(await sign(changes))), challenge: undefined },
      { status: 401, code: 'token_holder_gone', challenge: undefined },
      JSON.stringify(changes),
    );
  }
});

test('a token with one changed character is refused', async (t) => {
  const token = ofClient.access_token;
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  for (let index = 0; index < token.length; index += 7) {
    const old = token[index]!;
    const other = old === '.' ? 'A' : alphabet[(alphabet.indexOf(old) + 1) % 64]!;
    t.true(await isRefused(token.slice(0, index) + other + token.slice(index + 1)), `at ${index}`);
  }
  for (const other of alphabet) {
    if (other !== token.at(-1)) t.true(await isRefused(token.slice(0, -1) + other), `ends in ${other}`);
  }
  t.is((await answerTo(token)).status, 200);
});

test('a token with missing or additional parts, or parts of another token, is refused', async (t) => {
  const [head, payload, signature] = ofUser.access_token.split('.');
  const [, otherPayload, otherSignature] = ofClient.access_token.split('.');
  for (const token of [
    `${head}.${payload}`,
    `${head}.${payload}.`,
    `.${payload}.${signature}`,
    `${head}..${signature}`,
    `${head}.${payload}.${signature}.`,
    `${head}.${payload}.${signature}.${signature}`,
    `${head}.${payload}.${signature}.x.y`,
    `${head}.${otherPayload}.${signature}`,
    `${head}.${payload}.${otherSignature}`,
    `${head}.${payload}.${signature}==`,
    `${head}.${payload}.${signature}\u0000`.replaceAll('\u0000', '%00'),
    '..',
    '.',
    'null',
    'undefined',
    '{}',
    'x'.repeat(9000),
    `${'x'.repeat(3000)}.${'x'.repeat(3000)}.${'x'.repeat(3000)}`,
  ]) {
    t.true(await isRefused(token), token.slice(0, 100));
  }
});

test('other credentials are refused as bearer tokens', async (t) => {
  const code = (await authorize(platform, app)).get('code')!;
  const { token_endpoint: endpoint } = (
    await send(`${platform.origin}/.well-known/oauth-authorization-server`)
  ).body as Record<string, string>;
  for (const credential of [
    ofUser.refresh_token,
    code,
    app.secret,
    service.secret,
    app.client.id,
    claims['grant_id'] as string,
    claims.jti!,
    endpoint!,
    '1',
  ]) {
    t.true(await isRefused(credential), credential);
  }
});

test('a token in the URL or the body is not read', async (t) => {
  const inUrl = await send(`${platform.origin}/api/v1/identity?access_token=${ofUser.access_token}`);
  t.is(inUrl.status, 401);
  const inBody = await send(`${platform.origin}/api/v1/identity`, {
    method: 'POST',
    body: new URLSearchParams({ access_token: ofUser.access_token }),
  });
  t.true(inBody.status === 401 || inBody.status === 405 || inBody.status === 404, String(inBody.status));
});

test('a client and a user with the same id are kept apart', async (t) => {
  const connectCleo = async (): Promise<string> => {
    const browser = new Browser();
    const login = await browser.open(authorizeUrl(platform, app));
    await signIn(browser, login, 'cleo@school.example', 'open sesame');
    return (await runCodeFlow(platform, app, { browser })).body.access_token;
  };
  const ofCleo = await connectCleo();
  const [secret] = (await storage.clients.find(service.client.id))!.secrets;
  const id = '3';
  await storage.clients.insert({ ...service.client, id, permissions: [] }, [
    { ...secret!, id: randomUUID() },
  ]);
  const { body } = await platform.token({
    grant_type: 'client_credentials',
    client_id: id,
    client_secret: service.secret,
  });
  t.like(decodeJwt(body.access_token), { sub: id, client_id: id, principal: 'client' });
  const identity = await platform.api('/identity', body.access_token);
  t.like(identity.body['data'], { type: 'client', id });
  t.false(JSON.stringify(identity.body).includes('cleo@school.example'));
  t.is((await platform.api('/schools', body.access_token)).status, 403, 'Cleo may, this client may not');
  t.like((await platform.api('/identity', ofCleo)).body['data'], { type: 'user', id });
  t.is((await platform.api('/schools', ofCleo)).status, 200);

  await platform.auth.revoke({ user: id });
  t.is((await answerTo(ofCleo)).status, 401);
  t.is((await answerTo(body.access_token)).status, 200, "revoking the user leaves the client's token alone");
  const again = await connectCleo();
  await platform.auth.revoke({ client: id });
  t.is((await answerTo(body.access_token)).status, 401);
  t.is((await answerTo(again)).status, 200, 'and the other way round');
});
