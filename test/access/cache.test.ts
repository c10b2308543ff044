import { decodeJwt } from 'jose';
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import { StorageError } from 'koa-gatehouse';
import { knexStorage } from 'koa-gatehouse/adapters/knex';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { issueToken, testServer } from 'koa-gatehouse/testing';

import { fileWithTables } from '../adapters/file-with-tables.ts';
import { postForm, request, send } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { until } from '../harness/until.ts';
import { createPlatform } from './platform.ts';
import type { GuardChanges, Platform } from './platform.ts';
import { serveApp } from '../harness/serve.ts';

/** A guarded server. `call` resolves to 'passed' or the code of the error. */
async function start(
  t: ExecutionContext,
  options?: GuardChanges,
): Promise<{ platform: Platform; arrived: string[]; call: (token: string) => Promise<unknown> }> {
  const platform = createPlatform();
  const arrived: string[] = [];
  const url = await serveApp(
    t,
    async (ctx, next) => {
      arrived.push(ctx.get('authorization'));
      await next();
    },
    platform.guard(options),
    (ctx) => {
      ctx.body = { code: 'passed' };
    },
  );
  return { platform, arrived, call: async (token) => (await request(url, token)).body['code'] };
}

test('requests with one token cost one signature check and one look-up of the user and the client', async (t) => {
  const loading = Promise.withResolvers<boolean>();
  let reads = 0;
  const { platform, arrived, call } = await start(t, {
    isActive: async () => {
      reads += 1;
      return loading.promise;
    },
  });
  const tokens = [await platform.userToken(), await platform.clientToken()];
  const atOnce = Promise.all(Array.from({ length: 10 }, async (_, index) => call(tokens[index % 2]!)));
  await until(() => arrived.length === 10);
  loading.resolve(true);
  t.deepEqual(new Set(await atOnce), new Set(['passed']));
  for (const token of tokens) t.is(await call(token), 'passed');
  t.is(reads, 2);
  t.like(platform.counts, { verify: 2, findUser: 1, findClient: 2 });
});

test('after revocationLag the user and the revocations are read again once, and the signature is not checked again', async (t) => {
  const { platform, call } = await start(t);
  const token = await platform.userToken();
  await call(token);
  platform.clock.time += 4999;
  await call(token);
  t.is(platform.counts.findUser, 1);
  platform.clock.time += 1;
  await call(token);
  platform.revoked.add('grant-1');
  t.is(await call(token), 'passed');
  t.deepEqual(platform.counts, { verify: 1, isActive: 2, findUser: 2, findClient: 2 });
  platform.clock.time += 5000;
  t.is(await call(token), 'token_revoked');

  const other = await start(t, { revocationLag: 0 });
  const own = await other.platform.userToken();
  t.is(await other.call(own), 'passed');
  other.platform.revoked.add('grant-1');
  t.is(await other.call(own), 'token_revoked');
});

test('a client that was cached before is not used for longer with a token', async (t) => {
  const { platform, call } = await start(t);
  const token = await platform.userToken();
  platform.clock.clientAge = 3000;
  t.is(await call(token), 'passed');
  platform.clients.clear();
  platform.clock.time += 1999;
  t.is(await call(token), 'passed');
  platform.clock.time += 1;
  t.is(await call(token), 'token_holder_gone');
});

test('a token that was refused stays refused after the clock is set back', async (t) => {
  const { platform, call } = await start(t);
  const token = await platform.userToken();
  t.is(await call(token), 'passed');
  platform.revoked.add('grant-1');
  platform.clock.time += 5000;
  t.is(await call(token), 'token_revoked');
  platform.clock.time -= 1000;
  t.is(await call(token), 'token_revoked');
});

test('an expired token is not accepted from the cache', async (t) => {
  const { platform, call } = await start(t, { revocationLag: 86_400 });
  const token = await platform.userToken();
  t.is(await call(token), 'passed');
  platform.clock.time += 3_599_999;
  t.is(await call(token), 'passed');
  platform.clock.time += 1;
  for (const _time of [1, 2]) t.is(await call(token), 'token_invalid');
});

test('after the clock is set back, cached tokens are loaded again', async (t) => {
  const { platform, call } = await start(t);
  const token = await platform.userToken();
  await call(token);
  platform.clock.time -= 60_000;
  await call(token);
  t.like(platform.counts, { findUser: 2, verify: 1 });
});

test('a load that failed is not cached', async (t) => {
  let isDown = true;
  const { platform, call } = await start(t, {
    isActive: async () => {
      if (isDown) throw new StorageError('The database is down');
      return true;
    },
  });
  const token = await platform.userToken();
  t.is(await call(token), 'temporarily_unavailable');
  isDown = false;
  t.is(await call(token), 'passed');
  isDown = true;
  t.is(await call(token), 'passed', 'still fresh');
  platform.clock.time += 5000;
  t.is(await call(token), 'temporarily_unavailable', 'its revocation state is too old');
  isDown = false;
  t.is(await call(token), 'passed');
});

test('a wrong token neither evicts a valid one from the cache, nor passes with the signature of one', async (t) => {
  const { platform, call } = await start(t, { cachedTokens: 1 });
  const token = await platform.userToken();
  await call(token);
  for (let index = 0; index < 5; index += 1) {
    t.is(await call(await platform.forgedToken()), 'token_invalid');
    t.is(await call(`garbage ${index}`), 'token_malformed');
  }
  const [head, , signature] = token.split('.');
  const other = (await platform.userToken({ sub: 'bob' })).split('.')[1];
  t.is(await call(`${head}.${other}.${signature}`), 'token_invalid');
  t.is(platform.counts.verify, 7);
  t.is(await call(token), 'passed');
  t.is(platform.counts.verify, 7);
});

const ann = { id: '1', name: 'Ann' };

test('tokens beyond tokens.maxCached evict the oldest that was not used again', async (t) => {
  for (const [maxCached, order, loads] of [
    [1, 'ababab', 'ababab'],
    [2, 'ababab', 'ab'],
    [2, 'abcab', 'abcab'],
    [2, 'aabcab', 'abcb'],
    [2, 'aabbcab', 'abcab'],
  ] as const) {
    let read = false;
    const storage = around(memoryStorage(), async (name, call) => {
      if (name === 'revocations.isValid') read = true;
      return call();
    });
    const tokens = { maxCached, revocationLag: '1 hour' } as const;
    await using server = await testServer({ storage, tokens, users: [ann] });
    const byName = new Map<string, string>();
    for (const name of 'abc') byName.set(name, await issueToken(server.auth, { user: ann }));
    let loaded = '';
    for (const name of order) {
      read = false;
      t.is((await request(`${server.origin}/api/v1/identity`, byName.get(name))).status, 200);
      if (read) loaded += name;
    }
    t.is(loaded, loads, order);
  }
});

test('a revocation that another node has stored already empties the cache of this node', async (t) => {
  const address = `sqlite:${await fileWithTables()}`;
  const ofOtherNode = knexStorage(address);
  t.teardown(async () => ofOtherNode.close());
  await using server = await testServer({
    storage: knexStorage(address),
    tokens: { revocationLag: '1 hour' },
    users: [ann],
  });
  const { auth, origin } = server;
  const { client, secret } = await auth.clients.create({
    name: 'Reports',
    grantType: 'authorization_code',
    redirectUris: ['https://reports.example/callback'],
  });
  const credentials = { client_id: client.id, client_secret: secret!.value };
  const revokeAsClient = async (token: string) =>
    t.is((await postForm(`${origin}/oauth/revoke`, { ...credentials, token })).status, 200);
  const revocations: ((of: { access: string; grant: string; refresh: string }) => Promise<unknown>)[] = [
    async ({ grant }) => auth.revoke({ grantId: grant }),
    async ({ refresh }) => auth.revoke({ token: refresh }),
    async ({ access }) => revokeAsClient(access),
    async ({ refresh }) => revokeAsClient(refresh),
  ];
  for (const revoke of revocations) {
    const { exchange } = await server.authorize({ client, secret }, ann);
    const { access_token: access, refresh_token: refresh } = await exchange();
    const ask = async () =>
      send(`${origin}/api/v1/identity`, { headers: { authorization: `Bearer ${access}` } });
    t.is((await ask()).status, 200);
    const { grant_id: grant } = decodeJwt<{ grant_id: string }>(access);
    t.deepEqual(await ofOtherNode.grants.revoke({ id: grant }, Math.floor(Date.now() / 1000)), [grant]);
    t.is((await ask()).status, 200, 'cached');
    await revoke({ access, grant, refresh });
    const { status, body } = await ask();
    t.like([status, body], [401, { code: 'token_revoked' }], String(revoke));
  }
});
