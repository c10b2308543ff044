import test from 'ava';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';

import { createRequires } from '../../lib/access/requires.ts';
import { ConfigError } from '../../lib/errors.ts';
import { ISSUER, app as client, createPlatform, gate, person } from './platform.ts';
import type { Permission, Platform } from './platform.ts';
import { request, serve } from './serve.ts';

const requires = createRequires({ gate, realm: ISSUER });

async function startWith(
  t: ExecutionContext,
  ...permissions: readonly [Permission, ...Permission[]]
): Promise<{ platform: Platform; url: string }> {
  const platform = createPlatform();
  const app = new Koa();
  app.use(platform.guard());
  app.use(platform.requires(...permissions));
  app.use((ctx) => {
    ctx.body = 'let through';
  });
  return { platform, url: await serve(t, app) };
}

test('a user with the permission passes, by a role or a direct assignment', async (t) => {
  const { platform, url } = await startWith(t, 'view_schools');
  platform.users.set('bob', person({ id: 'bob', roles: [], permissions: ['view_schools'] }));
  t.is((await request(url, await platform.userToken())).status, 200);
  t.is((await request(url, await platform.userToken({ sub: 'bob' }))).status, 200);
});

test('a client with the permission passes', async (t) => {
  const { platform, url } = await startWith(t, 'view_schools');
  t.is((await request(url, await platform.clientToken())).status, 200);
});

test('without the permission: 403 with the documented message, and no challenge', async (t) => {
  const { platform, url } = await startWith(t, 'view_schools');
  platform.users.set('ann', person({ roles: [] }));
  const { status, body, type, headers } = await request(url, await platform.userToken());
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
  const { platform, url } = await startWith(t, 'edit_schools');
  t.is((await request(url, await platform.userToken())).status, 200, 'Ann is a registrar');
  t.is((await request(url, await platform.clientToken())).status, 403);
  const [id] = platform.clients.keys();
  platform.clients.set(id!, client({ id: id!, permissions: ['edit_schools'] }));
  platform.users.set('ann', person({ roles: [] }));
  t.is((await request(url, await platform.userToken({ jti: 'another' }))).status, 403);
});

test('all of several permissions are needed, and the error names the first that is missing', async (t) => {
  const { platform, url } = await startWith(t, 'view_schools', 'view_grades', 'edit_schools');
  const { status, body } = await request(url, await platform.clientToken());
  t.is(status, 403);
  t.is(body['code'], 'missing_permission');
  t.is(body['message'], 'You may not see grades.');
  t.is(body['permission'], 'view_grades');
});

test('a permission excluded by the scopes alone: 403 with a challenge (RFC 6750 section 3.1)', async (t) => {
  const { platform, url } = await startWith(t, 'edit_schools');
  const limited = await request(url, await platform.userToken({ scope: 'schools:read' }));
  t.is(limited.status, 403);
  t.is(limited.body['code'], 'insufficient_scope');
  t.is(limited.body['message'], 'The scopes of the access token exclude a required permission.');
  t.is(limited.body['permission'], 'edit_schools');
  t.is(
    limited.headers.get('www-authenticate'),
    `Bearer realm="${ISSUER}", error="insufficient_scope", error_description="The scopes of the access token exclude a required permission."`,
  );
  const withoutPermission = await request(url, await platform.clientToken({ scope: 'schools:read' }));
  t.is(withoutPermission.status, 403);
  t.is(
    withoutPermission.headers.get('www-authenticate'),
    null,
    'no scope would give the client this permission',
  );
});

test('a withdrawn permission is refused after revocationLag at the latest', async (t) => {
  const { platform, url } = await startWith(t, 'view_schools');
  const token = await platform.userToken();
  t.is((await request(url, token)).status, 200);
  platform.users.set('ann', person({ roles: [] }));
  platform.clock.time += 5000;
  t.is((await request(url, token)).status, 403);
});

test('an unknown permission is a ConfigError when the route is made', (t) => {
  t.throws(
    () =>
      requires(
        // @ts-expect-error the gate has no such permission
        'view_school',
      ),
    {
      instanceOf: ConfigError,
      code: 'ERR_CONFIG',
      message: "requires('view_school'): the gate has no such permission; define it or correct the name",
    },
  );
  t.throws(
    () =>
      requires(
        // @ts-expect-error the gate has no such permission
        'constructor',
      ),
    { code: 'ERR_CONFIG' },
  );
});

test('requires() without a permission is a ConfigError', (t) => {
  t.throws(
    // @ts-expect-error one is needed
    () => requires(),
    {
      code: 'ERR_CONFIG',
      message: 'requires(): name at least one permission; a route for every caller needs the guard only',
    },
  );
});

test("a route without the guard answers 500, and the app's error event has the remedy", async (t) => {
  const errors: unknown[] = [];
  const app = new Koa();
  app.on('error', (error) => errors.push(error));
  app.use(requires('view_schools'));
  app.use((ctx) => {
    ctx.body = 'let through';
  });
  t.is((await request(await serve(t, app))).status, 500);
  t.like(errors[0], {
    code: 'ERR_CONFIG',
    message: 'requires(): mount auth.guard() before it, which sets the principal',
  });
});
