import test from 'ava';

import { TokenCache } from '../../lib/access/authenticator.ts';
import type { VerifiedToken } from '../../lib/access/authenticator.ts';
import type { AccessTokenClaims } from '../../lib/contracts/index.ts';
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
  const holdsNothing = {
    scopes: [],
    limited: false,
    roles: [],
    permissions: new Set<string>(),
    sources: new Map<string, []>(),
    can: () => false,
  };
  return {
    token,
    claims: { ...common, principal: 'user', ...claims },
    principal: { type: 'client', user: undefined, client: app(), ...holdsNothing },
    loadedAt: 0,
    expiresAt: 1000,
    visited: false,
  };
}

function filled(...tokens: readonly VerifiedToken[]): TokenCache {
  const cache = new TokenCache(tokens.length);
  for (const token of tokens) cache.set(token);
  return cache;
}

test('it never holds more than its capacity', (t) => {
  const cache = new TokenCache(10);
  for (let index = 0; index < 1000; index += 1) cache.set(known(`token ${index}`));
  t.is(cache.size, 10);
  t.truthy(cache.get('token 999'));
  t.is(cache.get('token 989'), undefined);
});

test('the oldest goes first, but one that was used is spared once', (t) => {
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

test('when all were used, the oldest goes all the same', (t) => {
  const cache = filled(known('a'), known('b'));
  for (const token of ['a', 'b']) cache.get(token)!.visited = true;
  cache.set(known('c'));
  t.is(cache.size, 2);
  t.is(cache.get('a'), undefined);
});

test('replacing an entry pushes none out', (t) => {
  const cache = filled(known('a'), known('b'));
  cache.set(known('a'));
  t.truthy(cache.get('b'));
});

test('tokens that end alike are told apart', (t) => {
  const end = '.payload'.padEnd(100, 'signature');
  const cache = filled(known(`one${end}`), known('another'));
  t.is(cache.get(`two${end}`), undefined);
  cache.delete(`two${end}`);
  t.is(cache.get(`one${end}`)?.token, `one${end}`);
});

/** Which of three tokens are left after a match was forgotten. */
function left(match: Parameters<TokenCache['forget']>[0]): string[] {
  const cache = filled(
    known('one', { jti: '1', grant_id: 'grant-1', sub: 'ann', client_id: 'reports' }),
    known('two', { jti: '2', grant_id: 'grant-2', sub: 'bob', client_id: 'reports' }),
    known('app', { jti: '3', principal: 'client', sub: 'ann', client_id: 'ann' }),
  );
  cache.forget(match);
  return ['one', 'two', 'app'].filter((token) => cache.get(token));
}

test('it forgets by token, grant, user and client, and all', (t) => {
  t.deepEqual(left({ tokenId: '2' }), ['one', 'app']);
  t.deepEqual(left({ grantId: 'grant-1' }), ['two', 'app']);
  t.deepEqual(left({ userId: 'ann' }), ['two', 'app'], 'the client with the same id stays');
  t.deepEqual(left({ clientId: 'reports' }), ['app'], 'also those for users');
  t.deepEqual(left({ userId: 'bob', clientId: 'ann' }), ['one'], 'any member is enough');
  t.deepEqual(left({}), ['one', 'two', 'app']);
  t.deepEqual(left({ grantId: undefined }), ['one', 'two', 'app'], 'tokens of clients have no grant');
  t.deepEqual(left(undefined), []);
});
