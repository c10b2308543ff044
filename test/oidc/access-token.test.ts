import {
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  randomUUID,
  sign as signBytes,
} from 'node:crypto';
import type { JsonWebKey } from 'node:crypto';

import { SignJWT, decodeJwt, decodeProtectedHeader, exportJWK, generateKeyPair, importJWK } from 'jose';
import type { JWK } from 'jose';
import test from '../harness/test.ts';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { passTime } from '../harness/clock.ts';
import { authorize, runCodeFlow, startPlatform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { requestClientToken } from '../harness/tokens.ts';
import { shared } from '../harness/shared.ts';

const storage = memoryStorage();
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({ storage }));
  const app = await platform.registerApp({ firstParty: true });
  const service = await platform.registerService(['view_schools']);
  const before = Math.floor(Date.now() / 1000);
  const { body: ofUser } = await runCodeFlow(platform, app, { parameters: { scope: 'schools:read' } });
  const issued = { before, after: Date.now() / 1000 };
  const { body: ofClient } = await requestClientToken(platform, service);
  const published = (await send(`${platform.origin}/oauth/jwks`)).body?.['keys'] as JWK[];
  // The key of the server, so that the tests below show the other checks and not only that of the signature.
  const [stored] = await storage.keys.list('token');
  const privateKey = await importJWK(JSON.parse(stored!.material) as JWK, 'ES256');
  const claims = decodeJwt(ofUser.access_token);
  const header = { alg: 'ES256', typ: 'at+jwt', kid: published[0]!.kid! };
  const CHALLENGE = `Bearer realm="${platform.origin}", error="invalid_token", error_description="`;
  return {
    platform,
    app,
    service,
    issued,
    ofUser,
    ofClient,
    published,
    privateKey,
    claims,
    header,
    CHALLENGE,
  };
});

async function sign(
  changes: Record<string, unknown> = {},
  headerChanges: Readonly<Record<string, unknown>> = {},
  key?: Parameters<SignJWT['sign']>[0],
): Promise<string> {
  const { privateKey, claims, header } = await started();
  const payload = Object.fromEntries(
    Object.entries({ ...claims, ...changes }).filter(([, value]) => value !== undefined),
  );
  // `crit` may only name what the library knows, or is told that it knows.
  const options = headerChanges['crit'] ? { crit: { x: true } } : {};
  return new SignJWT(payload)
    .setProtectedHeader({ ...header, ...headerChanges })
    .sign(key ?? privateKey, options);
}

async function answerTo(token: string): Promise<{ status: number; code: unknown; challenge: string }> {
  const { platform } = await started();
  const { status, body, headers } = await platform.api('/identity', token);
  return { status, code: body['code'], challenge: String(headers.get('www-authenticate')) };
}

async function isRefused(token: string): Promise<boolean> {
  const { CHALLENGE } = await started();
  const { status, code, challenge } = await answerTo(token);
  return (
    status === 401 && /^token_(invalid|malformed)$/.test(String(code)) && challenge.startsWith(CHALLENGE)
  );
}

test.serial('a token is accepted for a year, plus the tolerance for clocks', async (t) => {
  const { platform, app, CHALLENGE } = await started();
  const { body } = await runCodeFlow(platform, app);
  passTime(31_536_000 - 10);
  t.teardown(() => passTime(-31_536_020));
  t.is((await answerTo(body.access_token)).status, 200);
  passTime(30);
  t.deepEqual(await answerTo(body.access_token), {
    status: 401,
    code: 'token_invalid',
    challenge: `${CHALLENGE}The access token has expired. Get another one."`,
  });
});

test('a token of a user has the claims of RFC 9068 and principal "user"', async (t) => {
  const { issued, ofUser, header, platform, app } = await started();
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
  t.true(iat! >= issued.before && iat! <= issued.after);
  t.regex(jti!, /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/);
  t.regex(grantId as string, /^[\w-]{36}$/);
});

test('a token of a client has the claims of RFC 9068 and principal "client"', async (t) => {
  const { service, ofClient, platform } = await started();
  const { id } = service.client;
  const { iat: _iat, exp: _exp, jti: _jti, ...rest } = decodeJwt(ofClient.access_token);
  t.deepEqual(rest, {
    iss: platform.origin,
    aud: platform.origin,
    sub: id,
    client_id: id,
    principal: 'client',
  });
});

test('published keys have no private members, and a kid each', async (t) => {
  const { published } = await started();
  t.is(published.length, 1);
  t.deepEqual(Object.keys(published[0]!).toSorted(), ['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
  t.like(published[0], { kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' });
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

test('the algorithm none is refused, in any spelling', async (t) => {
  const { ofUser, header } = await started();
  const [, payload, ownSignature] = ofUser.access_token.split('.');
  for (const alg of ['none', 'nOnE', '', undefined, null, []]) {
    const head = Buffer.from(JSON.stringify({ ...header, alg })).toString('base64url');
    for (const signature of ['', ownSignature, 'AA']) {
      t.true(await isRefused(`${head}.${payload}.${signature}`), `${String(alg)} ${signature}`);
    }
  }
});

test('an HMAC with the public key as secret is refused', async (t) => {
  const { published } = await started();
  const [jwk] = published;
  const key = createPublicKey({ key: jwk as never, format: 'jwk' });
  for (const secret of [
    key.export({ type: 'spki', format: 'pem' }),
    key.export({ type: 'spki', format: 'der' }),
    JSON.stringify(jwk),
    jwk!.x!,
    Buffer.from(jwk!.x!, 'base64url'),
    jwk!.kid!,
  ]) {
    const token = await sign({}, { alg: 'HS256' }, createSecretKey(secret as string, 'utf8'));
    t.true(await isRefused(token));
  }
});

test('a signature of another key is refused, and keys in the header are not used', async (t) => {
  const { privateKey: foreign, publicKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  for (const more of [
    {},
    { kid: undefined },
    { jwk },
    { jwk, kid: undefined },
    { jku: 'https://evil.example/jwks', kid: 'evil' },
    { x5u: 'https://evil.example/cert' },
    { x5c: ['MIIB'] },
    { kid: "' or 1=1 --" },
    { kid: '__proto__' },
  ]) {
    t.true(await isRefused(await sign({}, more, foreign)), JSON.stringify(more));
  }
  const { privateKey: rsa } = await generateKeyPair('RS256', { extractable: true });
  t.true(await isRefused(await sign({}, { alg: 'RS256' }, rsa)));
});

test('other values of typ, crit and kid are refused', async (t) => {
  for (const more of [{ typ: 'JWT' }, { typ: undefined }, { crit: ['x'], x: 1 }, { kid: 'unknown' }]) {
    t.true(await isRefused(await sign({}, more)), JSON.stringify(more));
  }
});

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

test('a signature of the key with another algorithm in the header is refused (RFC 8725 section 3.1)', async (t) => {
  const { claims, header } = await started();
  const [stored] = await storage.keys.list('token');
  const key = createPrivateKey({ key: JSON.parse(stored!.material) as JsonWebKey, format: 'jwk' });
  const signed = (alg: string): string => {
    const text = `${encode({ ...header, alg })}.${encode(claims)}`;
    const signature = signBytes('sha256', Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' });
    return `${text}.${signature.toString('base64url')}`;
  };
  t.is((await answerTo(signed('ES256'))).status, 200);
  for (const alg of ['ES384', 'RS256', 'HS256', 'none', '']) t.true(await isRefused(signed(alg)), alg);
});

test('wrong and missing claims are refused', async (t) => {
  const { platform } = await started();
  const now = Math.floor(Date.now() / 1000);
  t.is((await answerTo(await sign())).status, 200, 'the key is right');
  for (const [claim, ...values] of [
    ['iss', 'https://evil.example', `${platform.origin}/`, undefined],
    ['aud', 'https://evil.example', ['https://evil.example', platform.origin], [platform.origin], undefined],
    ['exp', now - 1, 0, String(now + 1000), undefined],
    ['nbf', now + 1000],
    ['iat', undefined],
    ['sub', undefined, '', 1, ['1'], null],
    ['client_id', undefined, '', {}],
    ['jti', undefined, 1],
    ['scope', ['schools:read'], {}],
    ['principal', undefined, 'admin', true, 'client'],
    ['grant_id', undefined, 1],
  ] as const) {
    for (const value of values)
      t.true(await isRefused(await sign({ [claim]: value })), `${claim} ${JSON.stringify(value)}`);
  }
});

test('a token of a user or a client that does not exist is refused with token_holder_gone', async (t) => {
  for (const changes of [{ sub: 'unknown' }, { client_id: randomUUID() }, { client_id: '__proto__' }])
    t.like(await answerTo(await sign(changes)), { status: 401, code: 'token_holder_gone' });
});

test('a token with one changed character is refused', async (t) => {
  const { ofClient } = await started();
  const token = ofClient.access_token;
  for (let index = 0; index < token.length; index += 31) {
    const other = token[index] === 'A' ? 'B' : 'A';
    t.true(await isRefused(token.slice(0, index) + other + token.slice(index + 1)), `at ${index}`);
  }
  // The bits of some of them are the same where the signature ends.
  for (const other of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
    if (other !== token.at(-1)) t.true(await isRefused(token.slice(0, -1) + other), `ends in ${other}`);
  }
  t.is((await answerTo(token)).status, 200);
});

test('a token with missing or additional parts, or parts of another token, is refused', async (t) => {
  const { ofUser, ofClient } = await started();
  const [head, payload, signature] = ofUser.access_token.split('.');
  const [, otherPayload, otherSignature] = ofClient.access_token.split('.');
  for (const token of [
    `${head}.${payload}`,
    `${head}.${payload}.`,
    `.${payload}.${signature}`,
    `${head}..${signature}`,
    `${head}.${payload}.${signature}.`,
    `${head}.${payload}.${signature}.x.y`,
    `${head}.${otherPayload}.${signature}`,
    `${head}.${payload}.${otherSignature}`,
    `${head}.${payload}.${signature}==`,
    `${head}.${payload}.${signature}%00`,
    '..',
    'null',
    '{}',
    'x'.repeat(9000),
  ]) {
    t.true(await isRefused(token), token.slice(0, 100));
  }
});

test('other credentials are refused as bearer tokens', async (t) => {
  const { platform, app, ofUser, service, claims } = await started();
  const code = (await authorize(platform, app)).get('code')!;
  for (const credential of [
    ofUser.refresh_token,
    code,
    app.secret,
    service.secret,
    app.client.id,
    claims['grant_id'] as string,
    claims.jti!,
  ]) {
    t.true(await isRefused(credential), credential);
  }
});

test('a client and a user with the same id are kept apart', async (t) => {
  const { platform, app, service } = await started();
  const cleo = { person: 'cleo@school.example', password: 'open sesame' };
  const ofCleo = (await runCodeFlow(platform, app, cleo)).body.access_token;
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

  await platform.auth.revoke({ userId: id });
  t.is((await answerTo(ofCleo)).status, 401);
  t.is((await answerTo(body.access_token)).status, 200, "revoking the user leaves the client's token alone");
  const again = (await runCodeFlow(platform, app, cleo)).body.access_token;
  await platform.auth.revoke({ clientId: id });
  t.is((await answerTo(body.access_token)).status, 401);
  t.is((await answerTo(again)).status, 200, 'and the other way round');
});
