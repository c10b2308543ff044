import { once } from 'node:events';
import { get } from 'node:http';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';

import { StorageError } from '../../lib/errors.ts';
import { API, ISSUER, app as anApp, createPlatform } from './platform.ts';
import type { Permission, Person, Platform } from './platform.ts';
import type { GuardOptions } from '../../lib/access/guard.ts';
import { request, serve } from './serve.ts';

/** A server whose only route is guarded, in an app whose own session has set `ctx.state.user`. */
async function guarded(
  t: ExecutionContext,
  options?: Partial<GuardOptions<Permission, Person>>,
): Promise<{ platform: Platform; url: string }> {
  const platform = createPlatform();
  const app = new Koa();
  app.silent = true;
  app.use((ctx, next) => {
    ctx.state['user'] = { id: 'the session of the host' };
    ctx.state['client'] = 'a value of the host';
    return next();
  });
  app.use(platform.guard(options));
  app.use((ctx) => {
    const { user, client, principal } = ctx.state;
    ctx.body = {
      user: user?.id,
      client: client?.name,
      type: principal.type,
      members: Object.keys(ctx.state),
    };
  });
  return { platform, url: await serve(t, app) };
}

test('a token of a user sets the user, and the client is undefined', async (t) => {
  const { platform, url } = await guarded(t);
  const { status, body } = await request(url, await platform.userToken());
  t.is(status, 200);
  t.deepEqual(body, { user: 'ann', type: 'user', members: ['user', 'client', 'principal'] });
});

test('a token of a client sets the client, and the user is undefined', async (t) => {
  const { platform, url } = await guarded(t);
  const { status, body } = await request(url, await platform.clientToken());
  t.is(status, 200);
  t.deepEqual(body, { client: 'Sync', type: 'client', members: ['user', 'client', 'principal'] });
});

test('a cached token sets the same state', async (t) => {
  const { platform, url } = await guarded(t);
  for (const token of [await platform.userToken(), await platform.clientToken()]) {
    t.deepEqual((await request(url, token)).body, (await request(url, token)).body);
  }
  t.is(platform.counts.verify, 2);
});

test('the authentication scheme is case-insensitive (RFC 9110 section 11.1)', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  for (const scheme of ['bearer', 'BEARER', 'bEaReR']) {
    const { status } = await request(url, undefined, { headers: { authorization: `${scheme} ${token}` } });
    t.is(status, 200, scheme);
  }
  t.is(platform.counts.verify, 1);
});

test('without a token: 401, and a challenge without an error (RFC 6750 section 3.1)', async (t) => {
  const { url } = await guarded(t);
  for (const authorization of [undefined, 'Basic YW5uOnNlY3JldA==', 'Digest x', 'Bearerx y', '']) {
    const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
    const { status, body, type, headers: received } = await request(url, undefined, { headers });
    t.is(status, 401);
    t.is(received.get('www-authenticate'), `Bearer realm="${ISSUER}"`);
    t.is(received.get('cache-control'), 'no-store');
    t.is(received.get('x-content-type-options'), 'nosniff');
    t.is(type, 'application/problem+json; charset=utf-8');
    t.deepEqual(body, {
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'An access token is required. Send it in the header field Authorization: Bearer.',
      code: 'token_missing',
      message: 'An access token is required. Send it in the header field Authorization: Bearer.',
    });
  }
});

test('a header that is not Bearer, a space and a token: 401 without a signature check', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  const malformed = [
    'Bearer',
    'Bearer x',
    'Bearer x.y',
    'Bearer x.y.z.z.z',
    `Bearer  ${token}`,
    `Bearer ${token} ${token}`,
    `Bearer ${token}, Bearer ${token}`,
    `Bearer "${token}"`,
    `Bearer ${token}=`,
    `Bearer ${token}\u00e9`,
    `Bearer ${'a'.repeat(12_000)}`,
    `Bearer ${'a.'.repeat(6000)}`,
    `Bearer ${'a'.repeat(5000)}.${'b'.repeat(5000)}.c`,
  ];
  for (const authorization of malformed) {
    const { status, body, headers } = await request(url, undefined, { headers: { authorization } });
    t.is(status, 401, authorization.slice(0, 40));
    t.is(body['code'], 'token_malformed');
    t.is(
      headers.get('www-authenticate'),
      `Bearer realm="${ISSUER}", error="invalid_token", error_description="${String(body['detail'])}"`,
    );
  }
  t.is(platform.counts.verify, 0);
});

test('two Authorization fields: 401, even if one has a valid token', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  t.is((await request(url, token)).status, 200);
  const [response] = await once(
    get(url, { headers: ['Authorization', `Bearer ${token}`, 'authorization', 'Bearer x.y.z', 'Host', 'x'] }),
    'response',
  );
  response.resume();
  t.is(response.statusCode, 401);
  t.is(
    response.headers['www-authenticate'],
    `Bearer realm="${ISSUER}", error="invalid_request", error_description="Send one Authorization header field."`,
  );
});

test('a token in the URL is refused, with and without one in the header (RFC 9700 section 4.3.2)', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  t.is((await request(url, token)).status, 200);
  for (const inHeader of [undefined, token]) {
    const { status, body, headers } = await request(`${url}/?page=1&access_token=${token}`, inHeader);
    t.is(status, 401);
    t.is(body['code'], 'token_misplaced');
    t.regex(headers.get('www-authenticate') ?? '', /error="invalid_request"/);
  }
});

test('an access token in the body is ignored', async (t) => {
  const { platform, url } = await guarded(t);
  const { status, body } = await request(url, undefined, {
    method: 'POST',
    body: new URLSearchParams({ access_token: await platform.userToken() }),
  });
  t.is(status, 401);
  t.is(body['code'], 'token_missing');
});

test('an expired or forged token or one for another audience: 401 invalid_token, without the reason', async (t) => {
  const { platform, url } = await guarded(t);
  const past = platform.clock.time / 1000;
  const bad = [
    await platform.userToken({ exp: past - 1 }),
    await platform.userToken({ exp: past }),
    await platform.forgedToken(),
    await platform.userToken({ aud: 'https://other.example' }),
    await platform.userToken({ iss: 'https://other.example' }),
    await platform.userToken({ iat: past + 3600, nbf: past + 3600 }),
  ];
  for (const [index, value] of bad.entries()) {
    const { status, body, headers } = await request(url, value);
    if (status !== 401) t.fail(`${index}: ${value}`);
    t.is(body['code'], 'token_invalid');
    t.regex(
      headers.get('www-authenticate') ?? '',
      /error="invalid_token", error_description="The access token has/,
    );
  }
});

test('a token with one character changed: 401', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  const digits = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const changed = Array.from(token, (character, index) => {
    const other = digits[(digits.indexOf(character) + 1) % digits.length]!;
    return token.slice(0, index) + other + token.slice(index + 1);
  });
  for (const value of [...changed, `${token}A`, token.slice(0, -1), `.${token}`, `${token}.`]) {
    const { status } = await request(url, value);
    if (status !== 401) t.fail(value);
  }
  t.is((await request(url, token)).status, 200);
});

test('the error says that a token is revoked, or that its user is removed', async (t) => {
  const { platform, url } = await guarded(t);
  platform.revoked.add('grant-1');
  const revoked = await request(url, await platform.userToken());
  t.is(revoked.status, 401);
  t.is(revoked.body['code'], 'token_revoked');
  t.is(revoked.body['message'], 'The access token was revoked.');
  const gone = await request(url, await platform.userToken({ sub: 'bob', grant_id: 'grant-2' }));
  t.is(gone.status, 401);
  t.is(gone.body['code'], 'token_holder_gone');
  t.regex(gone.headers.get('www-authenticate') ?? '', /error="invalid_token"/);
});

test('the guard checks every method, HEAD and OPTIONS too', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  for (const method of ['HEAD', 'OPTIONS', 'DELETE', 'PROPFIND']) {
    t.is((await request(url, undefined, { method })).status, 401, method);
    t.is((await request(url, token, { method })).status, 200, method);
  }
});

test('a storage failure is 503 with Retry-After, and only the log has the cause', async (t) => {
  const { platform, url } = await guarded(t, {
    isActive: async () => {
      throw new StorageError('connect ECONNREFUSED 10.0.0.7:5432');
    },
  });
  const { status, body, headers } = await request(url, await platform.userToken());
  t.is(status, 503);
  t.is(headers.get('retry-after'), '5');
  t.is(headers.get('www-authenticate'), null);
  t.is(body['code'], 'temporarily_unavailable');
  t.is(body['message'], 'The server cannot answer right now. Try again in a few seconds.');
  t.false(JSON.stringify(body).includes('10.0.0.7'));
  t.is(platform.log.length, 1);
  t.is(platform.log[0]?.fields['request_id'], body['reference']);
  t.regex(String(platform.log[0]?.fields['err']), /10\.0\.0\.7/);
});

test("an error of the host's user store goes to the host's error handler", async (t) => {
  const { platform, url } = await guarded(t, {
    loadPrincipal: async () => {
      throw new TypeError('an error of the host');
    },
  });
  const { status, type } = await request(url, await platform.userToken());
  t.is(status, 500);
  t.is(type, 'text/plain; charset=utf-8');
});

test('an error of a handler is passed on, and the token stays cached', async (t) => {
  const platform = createPlatform();
  const app = new Koa();
  app.silent = true;
  app.use(platform.guard());
  app.use((ctx) => ctx.throw(418, 'a teapot'));
  const url = await serve(t, app);
  const token = await platform.userToken();
  t.is((await request(url, token)).status, 418);
  t.is((await request(url, token)).status, 418);
  t.is(platform.counts.verify, 1);
});

test('quotes in a realm are escaped', async (t) => {
  const { url } = await guarded(t, { api: { ...API, resource: 'a"b\\c' } });
  t.is((await request(url)).headers.get('www-authenticate'), String.raw`Bearer realm="a\"b\\c"`);
});

test('the owner of a client is loaded with the client, and not again while the token is cached', async (t) => {
  const { platform, url } = await guarded(t);
  const owned = anApp({ id: 'owned', grantType: 'client_credentials', ownerId: 'ann' });
  platform.clients.set(owned.id, owned);
  const token = await platform.clientToken({ sub: owned.id, client_id: owned.id });
  for (let time = 0; time < 5; time += 1) t.is((await request(url, token)).status, 200);
  t.is(platform.counts.findUser, 1);
  await request(url, await platform.clientToken());
  t.is(platform.counts.findUser, 1, 'the other client has no owner');
});
