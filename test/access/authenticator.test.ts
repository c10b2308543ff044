// Alone: it measures the heap.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import test from 'ava';
import Koa from 'koa';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { createAuthenticator } from '../../lib/access/authenticator.ts';
import type { GuardOptions } from '../../lib/access/guard.ts';
import { StorageError } from '../../lib/errors.ts';
import { passTime } from '../harness/clock.ts';
import { startPlatform } from '../harness/platform.ts';
import { createPlatform } from './platform.ts';
import type { Permission, Person, Platform } from './platform.ts';
import { request, serve } from './serve.ts';

/** Sends one request through the guard, without a network. Resolves to 'passed' or the error code. */
function createCaller(
  platform: Platform,
  options?: Partial<GuardOptions<Permission, Person>>,
): { guard: ReturnType<Platform['guard']>; call: (token: string) => Promise<string> } {
  const guard = platform.guard(options);
  const call = async (token: string) => {
    const req = { headers: { authorization: `Bearer ${token}` }, rawHeaders: [], url: '/' };
    const res = { hasHeader: () => true };
    const state = { principal: undefined, requestId: 'r-1' };
    const ctx = { req, res, state, body: '', set() {}, remove() {} };
    let outcome = 'refused';
    await Reflect.apply(guard, undefined, [
      ctx,
      async () => {
        outcome = 'passed';
      },
    ]);
    return outcome === 'passed' ? outcome : String(JSON.parse(ctx.body).code);
  };
  return { guard, call };
}

test('a thousand requests with one token cost one signature check and one look-up of the user and the client', async (t) => {
  const platform = createPlatform();
  const app = new Koa();
  app.use(platform.guard());
  app.use((ctx) => {
    ctx.body = {};
  });
  const url = await serve(t, app);
  const token = await platform.userToken();
  for (let round = 0; round < 20; round += 1) {
    const answers = await Promise.all(Array.from({ length: 50 }, async () => request(url, token)));
    t.true(answers.every(({ status }) => status === 200));
  }
  t.deepEqual(platform.counts, { verify: 1, isActive: 1, findUser: 1, findClient: 1 });
});

test('concurrent requests with the same uncached token share one load', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform);
  const tokens = [await platform.userToken(), await platform.clientToken()];
  await Promise.all(Array.from({ length: 100 }, async (_, index) => call(tokens[index % 2]!)));
  t.deepEqual(platform.counts, { verify: 2, isActive: 2, findUser: 1, findClient: 2 });
});

test('after revocationLag the user is read again once, and the signature is not checked again', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform);
  const token = await platform.userToken();
  await call(token);
  platform.clock.time += 4999;
  await call(token);
  t.is(platform.counts.findUser, 1);
  platform.clock.time += 1;
  await Promise.all(Array.from({ length: 10 }, async () => call(token)));
  t.deepEqual(platform.counts, { verify: 1, isActive: 2, findUser: 2, findClient: 2 });
});

test('a change by another node applies after revocationLag at the latest', async (t) => {
  const changes: [string, (platform: Platform) => void, string][] = [
    ['a revoked grant', ({ revoked }) => revoked.add('grant-1'), 'token_revoked'],
    ['a removed user', ({ users }) => users.clear(), 'token_holder_gone'],
    ['a removed client', ({ clients }) => clients.clear(), 'token_holder_gone'],
    [
      'a disabled client',
      ({ clients }) => {
        for (const client of clients.values()) clients.set(client.id, { ...client, disabled: true });
      },
      'token_holder_gone',
    ],
  ];
  for (const [what, change, code] of changes) {
    const platform = createPlatform();
    const { call } = createCaller(platform, { revocationLag: 2 });
    const token = await platform.userToken();
    t.is(await call(token), 'passed');
    change(platform);
    t.is(await call(token), 'passed', what);
    platform.clock.time += 2000;
    t.is(await call(token), code, what);
    t.is(await call(token), code, what);
  }
});

test.serial(
  'a client that another node disables is refused within tokens.revocationLag, also where it was in the cache',
  async (t) => {
    const storage = memoryStorage();
    await using here = await startPlatform({ storage, tokens: { revocationLag: 10 } });
    await using there = await startPlatform({ storage, tokens: { revocationLag: 10 }, issuer: here.origin });
    const { client, secret } = await here.registerService(['view_schools']);
    const credentials = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
    // This reads the client.
    const { body } = await there.token(credentials);
    passTime(6);
    await here.auth.clients.disable(client.id);
    t.is((await there.api('/schools', body.access_token)).status, 200);
    passTime(4);
    t.is((await there.api('/schools', body.access_token)).status, 401);
  },
);

test('with revocationLag 0 each request reads the state of the token', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform, { revocationLag: 0 });
  const token = await platform.userToken();
  t.is(await call(token), 'passed');
  platform.revoked.add('grant-1');
  t.is(await call(token), 'token_revoked');
});

test('a token removed from the cache is loaded by the next request', async (t) => {
  for (const match of [{ grantId: 'grant-1' }, { userId: 'ann' }, undefined]) {
    const platform = createPlatform();
    const { guard, call } = createCaller(platform);
    const token = await platform.userToken();
    t.is(await call(token), 'passed');
    platform.revoked.add('grant-1');
    guard.forget(match);
    t.is(await call(token), 'token_revoked');
  }
});

test('a load that began before a revocation is not cached, and later requests do not share it', async (t) => {
  const platform = createPlatform();
  const answers: PromiseWithResolvers<boolean>[] = [];
  const isActive = async () => {
    const answer = Promise.withResolvers<boolean>();
    answers.push(answer);
    return answer.promise;
  };
  const { guard, call } = createCaller(platform, { isActive });
  const token = await platform.userToken();
  const before = call(token);
  while (answers.length < 1) await new Promise(setImmediate);
  guard.forget({ grantId: 'grant-1' });
  const after = call(token);
  while (answers.length < 2) await new Promise(setImmediate);
  answers[1]!.resolve(false);
  t.is(await after, 'token_revoked');
  answers[0]!.resolve(true);
  t.is(await before, 'passed');
  const later = call(token);
  while (answers.length < 3) await new Promise(setImmediate);
  answers[2]!.resolve(false);
  t.is(await later, 'token_revoked');
});

test('an expired token is not accepted from the cache', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform, { revocationLag: 86_400 });
  const token = await platform.userToken();
  t.is(await call(token), 'passed');
  platform.clock.time += 3_599_999;
  t.is(await call(token), 'passed');
  platform.clock.time += 1;
  t.is(await call(token), 'token_invalid');
  t.is(await call(token), 'token_invalid');
});

test('the guard refuses an expired token even if the verifier accepts it', async (t) => {
  const platform = createPlatform();
  const seconds = platform.clock.time / 1000;
  const claims = {
    iss: 'i',
    aud: 'a',
    sub: 'ann',
    client_id: 'c',
    iat: 0,
    jti: 'j',
    principal: 'user',
  } as const;
  const { call } = createCaller(platform, { verify: async () => ({ ...claims, exp: seconds }) });
  t.is(await call(await platform.userToken()), 'token_invalid');
});

test('after the clock is set back, cached tokens are loaded again', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform);
  const token = await platform.userToken();
  await call(token);
  platform.clock.time -= 60_000;
  await call(token);
  t.is(platform.counts.findUser, 2);
  t.is(platform.counts.verify, 1);
});

test('a load that failed is not cached', async (t) => {
  const platform = createPlatform();
  let isDown = true;
  const isActive = async () => {
    if (isDown) throw new StorageError('The database is down');
    return true;
  };
  const { call } = createCaller(platform, { isActive });
  const token = await platform.userToken();
  t.deepEqual(await Promise.all([call(token), call(token)]), [
    'temporarily_unavailable',
    'temporarily_unavailable',
  ]);
  isDown = false;
  t.is(await call(token), 'passed');
  t.is(platform.counts.verify, 2);
  isDown = true;
  t.is(await call(token), 'passed', 'still fresh');
  platform.clock.time += 5000;
  t.is(await call(token), 'temporarily_unavailable', 'its revocation state is too old');
  isDown = false;
  t.is(await call(token), 'passed');
  t.is(platform.counts.verify, 2);
});

test('invalid tokens do not evict a valid token from the cache', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform, { cachedTokens: 1 });
  const token = await platform.userToken();
  await call(token);
  for (let index = 0; index < 20; index += 1) {
    t.is(await call(await platform.forgedToken()), 'token_invalid');
    t.is(await call(`garbage ${index}`), 'token_malformed');
  }
  await call(token);
  t.is(platform.counts.verify, 21);
});

test('valid tokens beyond cachedTokens evict the oldest', async (t) => {
  const platform = createPlatform();
  const { call } = createCaller(platform, { cachedTokens: 2 });
  const tokens = [await platform.userToken(), await platform.userToken(), await platform.userToken()];
  for (const token of tokens) await call(token);
  t.is(platform.counts.verify, 3);
  await call(tokens[2]!);
  t.is(platform.counts.verify, 3);
  await call(tokens[0]!);
  t.is(platform.counts.verify, 4);
});

test('invalid tokens take no memory', async (t) => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const authenticator = createAuthenticator({
    verify: async () => undefined,
    isActive: async () => true,
    loadPrincipal: async () => undefined,
    revocationLag: 5,
    cachedTokens: 10_000,
  });
  const heap = () => {
    collectGarbage();
    return process.memoryUsage().heapUsed;
  };
  const before = heap();
  for (let index = 0; index < 20_000; index += 1) {
    await authenticator.authenticate(
      `${index}.${'x'.repeat(4000)}.${Buffer.from('ok').toString('base64url')}`,
    );
  }
  t.true(heap() - before < 20_000_000, 'all of them together are 80 MB');
});
