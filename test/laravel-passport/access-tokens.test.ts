import { createHmac, generateKeyPairSync } from 'node:crypto';

import test from '../harness/test.ts';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { temporaryFile } from '../adapters/temporary-file.ts';
import { passTime } from '../harness/clock.ts';
import type { AppParts } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { clientToken } from '../harness/tokens.ts';
import { until } from '../harness/until.ts';
import { shared } from '../harness/shared.ts';
import { claimsOf, issue, signPassport, vectors } from './laravel.ts';
import { codeOf, moveIn, scopes, startLaravel } from './moved-platform.ts';
import type { Middleware } from 'koa';

const AGENTS = 'https://agents.example/mcp';

const started = shared(async (stack) => {
  const laravel = stack.use(await startLaravel('11'));
  return { laravel };
});

test('no other token is taken for one of Passport, and these are accepted nowhere else', async (t) => {
  const { laravel } = await started();
  await using platform = await moveIn(laravel, {
    resources: { [AGENTS]: { name: 'Agents', scopes } },
    mounting: { behind: guarded },
  });
  const { accessToken, id } = await issue(laravel.database, { clientId: 7, userId: 42 });
  const claims = claimsOf(accessToken);
  const code = async (token: string): Promise<unknown> => codeOf(platform, token);
  t.is(await code(accessToken), undefined);

  const time = Date.now() / 1000;
  const { iat, ...withoutIat } = claims;
  for (const [what, changed] of Object.entries({
    expired: { ...claims, exp: time - 0.01 },
    'expired, as text': { ...claims, exp: String(time - 0.01) },
    'expires at no time': { ...claims, exp: 'Infinity' },
    'issued in a minute': { ...claims, iat: time + 60 },
    'valid in a minute': { ...claims, nbf: String(time + 60) },
    'issued at no time': withoutIat,
    'of another client': { ...claims, aud: '3' },
    'for two clients': { ...claims, aud: ['7', '3'] },
    'without a row': { ...claims, jti: 'ab'.repeat(40) },
    'with another id': { ...claims, jti: id.toUpperCase() },
    'with scopes as text': { ...claims, scopes: '*' },
  }))
    t.is(await code(signPassport(changed)), 'token_invalid', what);
  t.is(await code(signPassport({ ...claims, iat, iss: platform.origin, tenant: 'north' })), undefined);

  const [, payload, signature] = accessToken.split('.') as [string, string, string];
  const hmacInput = `${encode({ typ: 'JWT', alg: 'HS256' })}.${payload}`;
  const hmac = createHmac('sha256', vectors.rsa_public_key_pem).update(hmacInput).digest('base64url');
  for (const [what, token] of Object.entries({
    'signed with the public key': `${hmacInput}.${hmac}`,
    'without a signature': `${encode({ typ: 'JWT', alg: 'none' })}.${payload}.`,
    'with another signature': accessToken.replace(
      signature,
      signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')),
    ),
    'of this type': signPassport(claims, { typ: 'at+jwt', alg: 'RS256' }),
    'with a key of its own': signPassport(claims, { typ: 'JWT', alg: 'RS256', crit: ['jwk'], jwk: {} }),
  }))
    t.regex(String(await code(token)), /^token_(invalid|malformed)$/, what);

  // Its row says the user, and the token that there is none.
  const ofClient = await platform.api('/identity', signPassport({ ...claims, sub: '' }));
  t.is((ofClient.body['data'] as { type: string }).type, 'client');

  const service = await platform.registerService();
  t.is(await code(await clientToken(platform, service)), undefined, 'those of this server beside them');
  t.is(await code(signPassport({ ...claims, aud: service.client.id })), 'token_invalid');

  const headers = { authorization: `Bearer ${accessToken}` };
  for (const [path, status, refusal] of [
    ['/default', 200, undefined],
    ['/agents', 401, 'token_invalid'],
  ] as const) {
    const answer = await send(platform.url(path), { headers });
    t.deepEqual([answer.status, answer.body?.['code']], [status, refusal], path);
  }
});

test('all are refused after the date, and with a wrong public key, of which a warning an hour tells', async (t) => {
  const { laravel } = await started();
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  await using ended = await moveIn(laravel, { passport: { until: new Date(Date.now() - 1000) } });
  t.is(await codeOf(ended, accessToken), 'token_invalid');

  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = String(publicKey.export({ format: 'pem', type: 'spki' }));
  await using wrong = await moveIn(laravel, { passport: { publicKey: other } });
  await using right = await moveIn(laravel, { passport: { publicKey: [other, vectors.rsa_public_key_pem] } });
  for (const [platform, code, warnings] of [
    [
      wrong,
      'token_invalid',
      ['a token in the form of those of Passport is not signed with publicKey of laravelPassport()'],
    ],
    [right, undefined, []],
  ] as const) {
    const before = platform.logger.lines.length;
    for (let call = 0; call < 2; call += 1) t.is(await codeOf(platform, accessToken), code);
    const after = platform.logger.lines.slice(before).filter(({ level }) => level === 'warn');
    t.deepEqual(
      after.map(({ message }) => message),
      warnings,
    );
  }
});

test.serial('a token that was accepted is refused from the date on', async (t) => {
  const { laravel } = await started();
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  await using platform = await moveIn(laravel, {
    passport: { until: new Date(Date.now() + 3_600_000) },
  });
  t.is(await codeOf(platform, accessToken), undefined);
  passTime(3601);
  t.is(await codeOf(platform, accessToken), 'token_revoked');
});

test('the use of a token is the use of its app', async (t) => {
  const { laravel } = await started();
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await using platform = await moveIn(laravel, { storage });
  const issuedAt = Math.floor(Date.now() / 1000) - 7200;
  const [ofUser, ofClient] = [
    await issue(laravel.database, { clientId: 7, userId: 42, issuedAt }),
    await issue(laravel.database, { clientId: 7, issuedAt }),
  ];
  t.is(await codeOf(platform, ofClient.accessToken), undefined);
  t.is(await codeOf(platform, ofUser.accessToken), undefined);
  await until(async () => {
    const [grant] = await storage.grants.list('42', { now: issuedAt, limit: 1 });
    return grant?.lastUsedAt !== undefined;
  });
  t.deepEqual(
    platform.logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

test('a token that is first used at two nodes at once is accepted by both', async (t) => {
  const { laravel } = await started();
  const address = `sqlite:${temporaryFile()}`;
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  await using other = await moveIn(laravel, { storage: knexStorage(address) });
  const storage = knexStorage(address);
  let looks = 0;
  await using platform = await moveIn(laravel, {
    storage: around(storage, async (name, call) => {
      if (name === 'grants.find') looks += 1;
      // The other one is faster.
      if (name === 'grants.find' && looks === 1) t.is(await codeOf(other, accessToken), undefined);
      return call();
    }),
  });
  t.is(await codeOf(platform, accessToken), undefined);
  t.true(looks > 0);
});

test('the first check of a token reads its row once, and each later one reads it again', async (t) => {
  const { laravel } = await started();
  let reads = 0;
  const { source } = laravel;
  const counting = {
    ...laravel,
    source: {
      ...source,
      async findAccessToken(id: string) {
        reads += 1;
        return source.findAccessToken(id);
      },
    },
  };
  const storage = knexStorage(`sqlite:${temporaryFile()}`);
  await using other = await moveIn(laravel, { storage });
  await using platform = await moveIn(counting, { storage });
  const { accessToken, id } = await issue(laravel.database, { clientId: 7, userId: 42 });
  t.is(await codeOf(other, accessToken), undefined, 'and the grant is stored');
  t.is(await codeOf(platform, accessToken), undefined);
  t.is(reads, 1);
  await laravel.database('oauth_access_tokens').where({ id }).update({ revoked: true });
  await until(async () => (await codeOf(platform, accessToken)) === 'token_revoked');
  t.true(reads > 1);
});

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

const guarded = ({ auth }: AppParts): readonly Middleware[] => [
  async (ctx, next) => {
    const guard = ctx.path === '/agents' ? auth.guard({ resource: AGENTS }) : auth.guard();
    await guard(ctx, next);
  },
  (ctx) => void (ctx.body = {}),
];
