import test from 'ava';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { issueToken, testServer } from 'koa-gatehouse/testing';
import type { RegisteredClient, TestServer } from 'koa-gatehouse/testing';
import { decodeJwt } from 'jose';

import { TokenCache } from '../../lib/access/authenticator.ts';
import type { VerifiedToken } from '../../lib/access/authenticator.ts';
import type { AccessTokenClaims } from '../../lib/contracts/index.ts';
import { postForm, send } from '../harness/requests.ts';
import { around } from '../harness/storage.ts';
import { app } from './platform.ts';

function known(token: string, claims: Partial<AccessTokenClaims> = {}): VerifiedToken {
  const common = {
    iss: 'i',
    aud: 'a',
    sub: 'ann',
    client_id: 'reports',
    iat: 0,
    exp: 1,
    jti: 'token',
  } as const;
  const noPermissions = {
    scopes: [],
    limited: false,
    roles: [],
    permissions: new Set<string>(),
    sources: new Map<string, []>(),
    can: () => false,
  };
  const { client_id: clientId, grant_id: grantId, jti: tokenId, sub } = { ...common, ...claims };
  return {
    token,
    subject: { tokenId, grantId, clientId, userId: claims.principal === 'client' ? app().ownerId : sub },
    principal: {
      type: 'client',
      user: undefined,
      client: app(),
      credential: 'access_token',
      ...noPermissions,
    },
    loadedAt: 0,
    usableUntil: 1000,
    expiresAt: 1,
    visited: false,
  };
}

function filled(...tokens: readonly VerifiedToken[]): TokenCache {
  const cache = new TokenCache(tokens.length);
  for (const token of tokens) cache.set(token);
  return cache;
}

test('the cache does not exceed its capacity', (t) => {
  const cache = new TokenCache(10);
  for (let index = 0; index < 1000; index += 1) cache.set(known(`token ${index}`));
  t.is(cache.size, 10);
  t.truthy(cache.get('token 999'));
  t.is(cache.get('token 989'), undefined);
});

test('the oldest entry is evicted first, but one that was used is kept once', (t) => {
  const cache = filled(known('a'), known('b'), known('c'));
  cache.get('a')!.visited = true;
  cache.set(known('d'));
  t.truthy(cache.get('a'));
  t.is(cache.get('b'), undefined);
  cache.set(known('e'));
  cache.set(known('f'));
  t.is(cache.get('a'), undefined);
  t.is(cache.size, 3);
});

test('when all entries were used, the oldest is evicted', (t) => {
  const cache = filled(known('a'), known('b'));
  for (const token of ['a', 'b']) cache.get(token)!.visited = true;
  cache.set(known('c'));
  t.is(cache.size, 2);
  t.is(cache.get('a'), undefined);
});

test('replacing an entry evicts none', (t) => {
  const cache = filled(known('a'), known('b'));
  cache.set(known('a'));
  t.truthy(cache.get('b'));
});

test('tokens with the same end are different entries', (t) => {
  const end = '.payload'.padEnd(100, 'signature');
  const cache = filled(known(`one${end}`), known('another'));
  t.is(cache.get(`two${end}`), undefined);
  cache.delete(`two${end}`);
  t.is(cache.get(`one${end}`)?.token, `one${end}`);
});

/** Which of three tokens are cached after forget(). */
function left(match: Parameters<TokenCache['forget']>[0]): string[] {
  const cache = filled(
    known('one', { jti: '1', grant_id: 'grant-1', sub: 'ann', client_id: 'reports' }),
    known('two', { jti: '2', grant_id: 'grant-2', sub: 'bob', client_id: 'reports' }),
    known('app', { jti: '3', principal: 'client', sub: 'ann', client_id: 'ann' }),
  );
  cache.forget(match);
  return ['one', 'two', 'app'].filter((token) => cache.get(token));
}

test('forget() removes by token, grant, user or client, or all entries', (t) => {
  t.deepEqual(left({ tokenId: '2' }), ['one', 'app']);
  t.deepEqual(left({ grantId: 'grant-1' }), ['two', 'app']);
  t.deepEqual(left({ userId: 'ann' }), ['two', 'app'], 'the client with the same id is kept');
  t.deepEqual(left({ clientId: 'reports' }), ['app'], 'also tokens of users');
  t.deepEqual(left({ userId: 'bob', clientId: 'ann' }), ['one'], 'any member is enough');
  t.deepEqual(left({}), ['one', 'two', 'app']);
  t.deepEqual(left({ grantId: undefined }), ['one', 'two', 'app'], 'tokens of clients have no grant');
  t.deepEqual(left(undefined), []);
});

for (const { cached, reads } of [
  { cached: 1, reads: 6 },
  { cached: 2, reads: 2 },
]) {
  test(`a server with tokens.cached: ${cached} reads two tokens that take turns ${reads} times in six requests`, async (t) => {
    const read: string[] = [];
    const storage = around(memoryStorage(), async (name, call) => {
      if (name === 'revocations.isValid') read.push(name);
      return call();
    });
    const ann = { id: '1', name: 'Ann' };
    await using server = await testServer({
      storage,
      tokens: { cached, revocationLag: '1 hour' },
      users: [ann],
    });
    const tokens = [
      await issueToken(server.auth, { user: ann }),
      await issueToken(server.auth, { user: ann }),
    ];
    for (let index = 0; index < 6; index += 1) {
      const authorization = `Bearer ${tokens[index % 2]}`;
      const response = await fetch(`${server.origin}/api/v1/identity`, { headers: { authorization } });
      t.is(response.status, 200);
      await response.body?.cancel();
    }
    t.is(read.length, reads);
  });
}

for (const [title, revoke] of Object.entries<Revoke>({
  'a grant': async ({ auth }, { grant }) => auth.revoke({ grant }),
  'a refresh token': async ({ auth }, { refreshToken }) => auth.revoke({ token: refreshToken }),
  'an access token at /oauth/revoke': async ({ origin }, { accessToken, client }) =>
    revokeAsClient(origin, client, accessToken),
  'a refresh token at /oauth/revoke': async ({ origin }, { client, refreshToken }) =>
    revokeAsClient(origin, client, refreshToken),
})) {
  test(`revoking ${title} that another node has revoked empties the cache of this node`, async (t) => {
    const storage = memoryStorage();
    const ann = { id: '1', name: 'Ann' };
    await using server = await testServer({ storage, tokens: { revocationLag: '1 hour' }, users: [ann] });
    const client = await server.auth.clients.create({
      name: 'Reports',
      grantType: 'authorization_code',
      redirectUris: ['https://reports.example/callback'],
    });
    const { exchange } = await server.authorize(client, ann);
    const { access_token: accessToken, refresh_token: refreshToken } = await exchange();
    const identity = `${server.origin}/api/v1/identity`;
    const headers = { authorization: `Bearer ${accessToken}` };
    t.is((await send(identity, { headers })).status, 200);

    const { grant_id: grant } = decodeJwt<{ grant_id: string }>(accessToken);
    t.deepEqual(await storage.grants.revoke({ id: grant }, Math.floor(Date.now() / 1000)), [grant]);
    t.is((await send(identity, { headers })).status, 200, 'cached');
    await revoke(server, { accessToken, client, grant, refreshToken });
    const refused = await send(identity, { headers });
    t.like([refused.status, refused.body], [401, { code: 'token_revoked' }]);
  });
}

type Revoke = (
  server: TestServer,
  revoked: {
    readonly accessToken: string;
    readonly client: RegisteredClient;
    readonly grant: string;
    readonly refreshToken: string;
  },
) => Promise<void>;

async function revokeAsClient(
  origin: string,
  { client, secret }: RegisteredClient,
  token: string,
): Promise<void> {
  const credentials = { client_id: client.id, client_secret: secret!.value };
  const { status } = await postForm(`${origin}/oauth/revoke`, { ...credentials, token });
  if (status !== 200) throw new Error(`/oauth/revoke answered ${status}`);
}
