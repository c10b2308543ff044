import { createHmac, generateKeyPairSync } from 'node:crypto';
import type { RequestListener } from 'node:http';

import test from 'ava';
import Koa from 'koa';
import { knexStorage } from 'koa-gatehouse/adapters/knex';

import { onEachEmptyDatabase } from '../adapters/databases.ts';
import { temporaryFile } from '../adapters/temporary-file.ts';
import { listenerOf } from '../harness/platform.ts';
import type { AppParts, Platform } from '../harness/platform.ts';
import { until } from '../harness/until.ts';
import { accessVectors, issue, signPassport, vectors, VERSIONS } from './laravel.ts';
import { moveIn, scopes, startLaravel } from './moved-platform.ts';

for (const version of VERSIONS) {
  onEachEmptyDatabase(
    `the API accepts the access tokens of Passport ${version} while they are live`,
    async (t, { client }, address) => {
      await using laravel = await startLaravel(version, { client, address });
      await using platform = await moveIn(laravel);
      const codeOf = async (token: string): Promise<unknown> =>
        (await platform.api('/identity', token)).body['code'];
      for (const { access_token: token, expect, name, row_of_oauth_access_tokens: row } of accessVectors(
        version,
      )) {
        const { body, status } = await platform.api('/identity', token);
        if (!expect.valid_at_2026) {
          t.deepEqual([name, status, body['code']], [name, 401, 'token_invalid']);
          continue;
        }
        t.is(status, 200, `${name}: ${JSON.stringify(body)}`);
        const data = body['data'] as Record<string, unknown>;
        t.is(data['type'], expect.kind, name);
        t.is(data['id'], expect.user_id ?? expect.client_id, name);
        t.is(data['client_id'], expect.client_id, name);
        // `*` and none are not limited; the scope `profile` is not defined here.
        t.deepEqual(
          data['scopes'],
          expect.scopes.filter((scope) => scope.startsWith('orders:')),
          name,
        );

        // Revoked at the old server, and not revoked any more: as the rows say, within the lag.
        const rows = laravel.database('oauth_access_tokens').where('id', String(row['id']));
        await rows.clone().update({ revoked: true });
        await until(async () => (await codeOf(token)) === 'token_revoked');
        await rows.clone().update({ revoked: false });
        t.is(await codeOf(token), undefined, name);
      }
      const { access_token: token } = accessVectors(version)[0]!;
      const clients = laravel.database('oauth_clients').where('id', laravel.clientId);
      await clients.clone().update({ revoked: true });
      await until(async () => (await codeOf(token)) === 'token_revoked');
      await clients.clone().update({ revoked: false });
      t.is(await codeOf(token), undefined);
      await laravel.database('oauth_access_tokens').delete();
      await until(async () => (await codeOf(token)) === 'token_revoked');
    },
  );
}

test('no other token is taken for one of Passport, and none of these for one of this server', async (t) => {
  await using laravel = await startLaravel('11');
  await using platform = await moveIn(laravel);
  const issued = await issue(laravel.database, { clientId: 7, userId: 42 });
  const claims = JSON.parse(Buffer.from(issued.accessToken.split('.')[1]!, 'base64url').toString()) as {
    readonly exp: number;
    readonly iat: number;
  };
  const code = async (token: string): Promise<unknown> =>
    (await platform.api('/identity', token)).body['code'];
  t.is(await code(issued.accessToken), undefined);

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
    'with another id': { ...claims, jti: issued.id.toUpperCase() },
    'with scopes as text': { ...claims, scopes: '*' },
  }))
    t.is(await code(signPassport(changed)), 'token_invalid', what);
  t.is(await code(signPassport({ ...claims, iat, iss: platform.origin, tenant: 'north' })), undefined);

  const [, payload, signature] = issued.accessToken.split('.') as [string, string, string];
  const hmacInput = `${encode({ typ: 'JWT', alg: 'HS256' })}.${payload}`;
  const hmac = createHmac('sha256', vectors.rsa_public_key_pem).update(hmacInput).digest('base64url');
  for (const [what, token] of Object.entries({
    'signed with the public key': `${hmacInput}.${hmac}`,
    'without a signature': `${encode({ typ: 'JWT', alg: 'none' })}.${payload}.`,
    'with another signature': issued.accessToken.replace(
      signature,
      signature.replace(/^./, (one) => (one === 'A' ? 'B' : 'A')),
    ),
    'of this type': signPassport(claims, { typ: 'at+jwt', alg: 'RS256' }),
    'with a key of its own': signPassport(claims, { typ: 'JWT', alg: 'RS256', crit: ['jwk'], jwk: {} }),
  }))
    t.regex(String(await code(token)), /^token_(invalid|malformed)$/, what);

  const { client, secret } = await platform.registerService();
  const credentials = { client_id: client.id, client_secret: secret };
  const { body } = await platform.token({ grant_type: 'client_credentials', ...credentials });
  t.is(await code(body.access_token), undefined, 'those of this server are accepted beside them');
  t.is(await code(signPassport({ ...claims, aud: client.id })), 'token_invalid');
});

test('they are for the default API only, and until the date', async (t) => {
  await using laravel = await startLaravel('11');
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  const agents = 'https://agents.example/mcp';
  await using platform = await moveIn(laravel, {
    resources: { [agents]: { name: 'Agents', scopes } },
    mounting: { app: ({ auth, api }) => guardedApp(auth, agents, api) },
  });
  const headers = { authorization: `Bearer ${accessToken}` };
  t.is((await fetch(platform.url('/default'), { headers })).status, 200);
  const refused = await fetch(platform.url('/agents'), { headers });
  t.is(refused.status, 401);
  t.is(((await refused.json()) as { code: string }).code, 'token_invalid');

  await using ended = await moveIn(laravel, { passport: { until: new Date(Date.now() - 1000) } });
  t.is((await ended.api('/identity', accessToken)).body['code'], 'token_invalid');
});

test('with a wrong public key all are refused, and a warning in an hour says so', async (t) => {
  await using laravel = await startLaravel('11');
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const other = String(publicKey.export({ format: 'pem', type: 'spki' }));
  await using platform = await moveIn(laravel, { passport: { publicKey: other } });
  const warnings = (): string[] =>
    platform.logger.lines.flatMap(({ level, message }) => (level === 'warn' ? [message] : []));
  const before = warnings().length;
  for (let call = 0; call < 2; call += 1)
    t.is((await platform.api('/identity', accessToken)).body['code'], 'token_invalid');
  t.deepEqual(warnings().slice(before), [
    'a token in the form of those of Passport is not signed with passport.publicKey',
  ]);

  await using right = await moveIn(laravel, { passport: { publicKey: [other, vectors.rsa_public_key_pem] } });
  t.is((await right.api('/identity', accessToken)).status, 200);
  t.false(right.logger.lines.some(({ message }) => message.includes('passport.publicKey')));
});

test('a token that is first used at two nodes at once is accepted by both', async (t) => {
  await using laravel = await startLaravel('11');
  const address = `sqlite:${temporaryFile()}`;
  const { accessToken } = await issue(laravel.database, { clientId: 7, userId: 42 });
  await using other = await moveIn(laravel, { storage: knexStorage(address) });
  const storage = knexStorage(address);
  let looks = 0;
  await using platform = await moveIn(laravel, {
    storage: {
      ...storage,
      grants: {
        ...storage.grants,
        async find(id) {
          looks += 1;
          // The other one is faster.
          if (looks === 1) t.is((await other.api('/identity', accessToken)).status, 200);
          return storage.grants.find(id);
        },
      },
    },
  });
  t.is((await platform.api('/identity', accessToken)).status, 200);
  t.true(looks > 0);
});

function encode(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url');
}

function guardedApp(auth: Platform['auth'], resource: string, api: AppParts['api']): RequestListener {
  const app = new Koa();
  app.use(auth.middleware()).use(api.routes());
  app.use(async (ctx, next) => {
    const guard = ctx.path === '/agents' ? auth.guard({ resource }) : auth.guard();
    await guard(ctx, next);
  });
  app.use((ctx) => void (ctx.body = {}));
  return listenerOf(app);
}
