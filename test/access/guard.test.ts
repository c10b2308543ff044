import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Middleware } from 'koa';

import type { GuardOptions } from '../../lib/access/guard.ts';
import { API, ISSUER, app as anApp, createPlatform, person } from './platform.ts';
import type { Permission, Person, Platform } from './platform.ts';
import { koaApp, serveApp } from '../harness/serve.ts';
import { request } from '../harness/requests.ts';

const session: Middleware = (ctx, next) => {
  ctx.state['user'] = { id: 'the session of the host' };
  ctx.state['client'] = { name: 'a value of the host' };
  return next();
};

/** A server whose only route is guarded, in an app whose own session has set `ctx.state.user`. */
async function guarded(
  t: ExecutionContext,
  options?: Partial<GuardOptions<Permission, Person>>,
  handler: Middleware = (ctx) => {
    const { user, client, principal } = ctx.state;
    const members = Object.keys(ctx.state);
    ctx.body = { user: user?.id, client: client?.name, type: principal.type, members };
  },
): Promise<{ platform: Platform; url: string }> {
  const platform = createPlatform();
  return { platform, url: await serveApp(t, session, platform.guard(options), handler) };
}

test('a token of a user sets the user, and one of a client the client, from the cache too', async (t) => {
  const { platform, url } = await guarded(t);
  const members = ['user', 'client', 'principal'];
  for (const [token, expected] of [
    [await platform.userToken(), { user: 'ann', type: 'user', members }],
    [await platform.clientToken(), { client: 'Sync', type: 'client', members }],
  ] as const) {
    for (const _time of [1, 2]) {
      const { status, body } = await request(url, token);
      t.is(status, 200);
      t.deepEqual(body, expected);
    }
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
});

test('the guard checks every method, HEAD and OPTIONS too', async (t) => {
  const { platform, url } = await guarded(t);
  const token = await platform.userToken();
  for (const method of ['HEAD', 'OPTIONS', 'DELETE', 'PROPFIND']) {
    t.is((await request(url, undefined, { method })).status, 401, method);
    t.is((await request(url, token, { method })).status, 200, method);
  }
});

test("errors of the host's user store and of a handler go to the host's error handler", async (t) => {
  const { platform, url } = await guarded(t, {
    loadPrincipal: async () => {
      throw new TypeError('an error of the host');
    },
  });
  const { status, type } = await request(url, await platform.userToken());
  t.deepEqual([status, type], [500, 'text/plain; charset=utf-8']);

  const teapot = await guarded(t, {}, (ctx) => ctx.throw(418, 'a teapot'));
  const token = await teapot.platform.userToken();
  for (const _time of ['loaded', 'cached']) t.is((await request(teapot.url, token)).status, 418);
  t.is(teapot.platform.counts.verify, 1);
});

test('quotes in a realm are escaped', async (t) => {
  const { url } = await guarded(t, { api: { ...API, resource: 'a"b\\c' } });
  t.is((await request(url)).headers.get('www-authenticate'), String.raw`Bearer realm="a\"b\\c"`);
});

const { requires } = createPlatform();

/** A server whose route needs permissions. */
async function requiring(
  t: ExecutionContext,
  ...permissions: readonly [Permission, ...Permission[]]
): Promise<{ platform: Platform; url: string }> {
  return guarded(t, {}, async (ctx, next) =>
    requires(...permissions)(ctx, async () => {
      ctx.body = 'let through';
      await next();
    }),
  );
}

test('a permission by a role, of the user or of the client passes; without it: 403 with the documented message, and no challenge', async (t) => {
  const { platform, url } = await requiring(t, 'view_schools');
  platform.users.set('bob', person({ id: 'bob', roles: [], permissions: ['view_schools'] }));
  platform.users.set('eve', person({ id: 'eve', roles: [] }));
  for (const token of [
    await platform.userToken(),
    await platform.userToken({ sub: 'bob' }),
    await platform.clientToken(),
  ])
    t.is((await request(url, token)).status, 200);
  const { status, body, type, headers } = await request(url, await platform.userToken({ sub: 'eve' }));
  t.is(status, 403);
  t.is(type, 'application/problem+json; charset=utf-8');
  t.is(headers.get('www-authenticate'), null);
  t.deepEqual(body, {
    type: 'about:blank',
    title: 'Forbidden',
    status: 403,
    detail: 'Missing permission to view schools.',
    code: 'missing_permission',
    message: 'Missing permission to view schools.',
    permission: 'view_schools',
  });
});

test('a user token needs the permissions of the user, a client token those of the client', async (t) => {
  const { platform, url } = await requiring(t, 'edit_schools');
  t.is((await request(url, await platform.userToken())).status, 200, 'Ann is a registrar');
  t.is((await request(url, await platform.clientToken())).status, 403);
  const [id] = platform.clients.keys();
  platform.clients.set(id!, anApp({ id: id!, permissions: ['edit_schools'] }));
  platform.users.set('ann', person({ roles: [] }));
  t.is((await request(url, await platform.userToken({ jti: 'another' }))).status, 403);
});

test('all of several permissions are needed, and the error names the first that is missing', async (t) => {
  const { platform, url } = await requiring(t, 'view_schools', 'view_grades', 'edit_schools');
  const { status, body } = await request(url, await platform.clientToken());
  t.is(status, 403);
  t.like(body, {
    code: 'missing_permission',
    message: 'You may not see grades.',
    permission: 'view_grades',
  });
});

test('a permission excluded by the scopes alone: 403 with a challenge (RFC 6750 section 3.1)', async (t) => {
  const { platform, url } = await requiring(t, 'edit_schools');
  const message = 'The scopes of the access token exclude a required permission.';
  const limited = await request(url, await platform.userToken({ scope: 'schools:read' }));
  t.is(limited.status, 403);
  t.like(limited.body, { code: 'insufficient_scope', message, permission: 'edit_schools' });
  t.is(
    limited.headers.get('www-authenticate'),
    `Bearer realm="${ISSUER}", error="insufficient_scope", error_description="${message}"`,
  );
  const withoutPermission = await request(url, await platform.clientToken({ scope: 'schools:read' }));
  t.is(withoutPermission.status, 403);
  t.is(withoutPermission.headers.get('www-authenticate'), null, 'no scope would give the permission');
});

test('a route that requires no or an unknown permission is a ConfigError when it is made', (t) => {
  for (const [permissions, message] of [
    [[], 'requires(): name at least one permission; a route for every caller needs the guard only'],
    [
      ['view_school'],
      "requires('view_school'): the gate has no such permission; define it or correct the name",
    ],
    [
      ['constructor'],
      "requires('constructor'): the gate has no such permission; define it or correct the name",
    ],
  ] as const)
    t.throws(() => Reflect.apply(requires, undefined, permissions), { code: 'ERR_CONFIG', message });
});

test("a route without the guard answers 500, and the app's error event has the remedy", async (t) => {
  const errors: unknown[] = [];
  const app = koaApp(requires('view_schools'), (ctx) => {
    ctx.body = 'let through';
  });
  app.on('error', (error) => errors.push(error));
  t.is((await request(await serveApp(t, app))).status, 500);
  t.like(errors[0], {
    code: 'ERR_CONFIG',
    message: 'requires(): mount auth.guard() before it, which sets the principal',
  });
});
