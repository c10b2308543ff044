import test from '../harness/test.ts';
import type { Middleware } from 'koa';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, signIn, startPlatform } from '../harness/platform.ts';
import { koaApp, listenerOf } from '../harness/serve.ts';
import type { Mounting } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { shared } from '../harness/shared.ts';
import { runGrants } from './flows.ts';
import { hostApp } from './host.ts';
import { startProxy } from './proxy.ts';
import type { ReverseProxy } from './proxy.ts';

const METADATA = '/.well-known/oauth-authorization-server';
const started = shared(async (stack) => {
  const platform = stack.use(await startPlatform({}, { path: '/auth', app: hostApp() }));
  return { platform };
});

for (const path of ['/a/b', '/v1.0', '/oauth', '/.well-known', '/my%20schools', '/Auth']) {
  test(`the issuer has a path, the server is mounted at the root of the app: ${path}`, async (t) => {
    await using own = await startPlatform({}, { path, app: hostApp() });
    await runGrants(t, own);
  });
}

test('all URLs in the metadata begin with the issuer', async (t) => {
  const { platform } = await started();
  const issuer = `${platform.origin}/auth`;
  for (const path of [`${METADATA}/auth`, `/auth${METADATA}`]) {
    const { status, headers, body } = await send(platform.origin + path);
    t.is(status, 200, path);
    t.is(headers.get('content-type'), 'application/json; charset=utf-8');
    t.like(body, {
      issuer,
      authorization_endpoint: `${issuer}/oauth/authorize`,
      token_endpoint: `${issuer}/oauth/token`,
      revocation_endpoint: `${issuer}/oauth/revoke`,
      introspection_endpoint: `${issuer}/oauth/introspect`,
      jwks_uri: `${issuer}/oauth/jwks`,
    });
    t.is((await send(String(body?.['jwks_uri']))).status, 200);
  }
});

test('paths outside of the issuer’s path belong to the host', async (t) => {
  const { platform } = await started();
  for (const path of [
    METADATA,
    `${METADATA}/authx`,
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/auth',
    '/auth/.well-known/openid-configuration',
    '/oauth/token',
    '/authx/oauth/authorize',
    '/auth',
    '/auth/',
    '/auth/oauth',
    '/auth/nope',
  ]) {
    const { status, body } = await send(platform.origin + path);
    t.is(status, 404, path);
    t.deepEqual(body, { host: 'nothing here' }, path);
  }
});

test('the host’s routes and its log have the full path', async (t) => {
  const { platform } = await started();
  for (const path of ['/auth/oauth/custom', '/auth/oauth/token/extra', '/auth/.well-known/security.txt']) {
    const url = `${path}?a=1&b=%2F`;
    const { headers, body } = await send(platform.origin + url);
    t.like(body, { path, url, originalUrl: url, query: { a: '1', b: '/' } });
    t.is(headers.get('x-logged'), `GET ${path} 200`);
  }
  for (const [path, status] of [
    ['/oauth/jwks', 200],
    ['/oauth/authorize?client_id=x', 400],
    ['/oauth/token', 405],
    ['/oauth/interaction/x', 400],
    ['/oauth/logout', 200],
  ] as const) {
    const { headers } = await send(platform.url(path));
    t.is(headers.get('x-logged'), `GET /auth${path.split('?')[0]} ${status}`);
  }
});

/** Mounts like koa-mount. */
function mountAt(prefix: string, middleware: Middleware): Middleware {
  return async function mounted(ctx, next) {
    const { path } = ctx;
    if (!path.startsWith(`${prefix}/`)) return next();
    ctx.path = path.slice(prefix.length);
    return middleware(ctx, async () => {
      const below = ctx.path;
      ctx.path = path;
      await next();
      ctx.path = below;
    });
  };
}

const strippedByMount: Mounting = {
  path: '/auth',
  app: ({ auth, api }) =>
    listenerOf(
      koaApp(
        mountAt('/auth', auth.middleware()),
        mountAt('/auth', api.routes() as Middleware),
        (ctx) => (ctx.body = { path: ctx.path }),
      ),
    ),
};

test('below a mount that removes the path, with mountPath /', async (t) => {
  await using own = await startPlatform({ paths: { mount: '/' } }, strippedByMount);
  await runGrants(t, own);
  const { body } = await send(own.url(METADATA));
  t.like(body, { issuer: `${own.origin}/auth`, token_endpoint: `${own.origin}/auth/oauth/token` });
  t.deepEqual((await send(own.url('/oauth/custom'))).body, { path: '/auth/oauth/custom' });
  t.deepEqual((await send(`${own.origin}/oauth/token`)).body, { path: '/oauth/token' });
});

function behind(proxy: ReverseProxy, origin = proxy.origin): NonNullable<Mounting['inFront']> {
  return (inside) => {
    proxy.forwardTo(inside);
    return origin;
  };
}

test('behind a proxy, the issuer’s path and the mount path may differ completely', async (t) => {
  await using proxy = await startProxy((path, headers) =>
    path.startsWith('/login/') ? { path: path.replace('/login/', '/internal/v2/'), headers } : undefined,
  );
  await using own = await startPlatform(
    { paths: { mount: '/internal/v2/' } },
    { path: '/login', inFront: behind(proxy), app: hostApp() },
  );
  await runGrants(t, own);
  t.true(proxy.passedOn.every((path) => path.startsWith('/internal/v2/')));
});

const PUBLIC = 'https://platform.example';

for (const [path, session, isTrusted] of [
  ['', '__Host-gatehouse_session /', true],
  ['/auth', '__Secure-gatehouse_session_auth /auth', false],
] as const) {
  test(`behind a proxy that ends TLS: issuer ${PUBLIC}${path}, app.proxy ${isTrusted}`, async (t) => {
    await using proxy = await startProxy((passed, headers) => ({
      path: passed,
      headers: { ...headers, host: 'platform.example', 'x-forwarded-proto': 'https' },
    }));
    await using own = await startPlatform(
      {},
      {
        path,
        inFront: behind(proxy, PUBLIC),
        reach: (url) => (url.origin === PUBLIC ? new URL(url.pathname + url.search, proxy.origin) : url),
        app: hostApp({ keys: ['of the host'], proxy: isTrusted }),
      },
    );
    t.is(own.auth.issuer, PUBLIC + path);
    const browser = new Browser(own.reach);
    const sessions = (): string[] =>
      browser.cookies.map((cookie) => `${cookie.name} ${cookie.path}`).filter((one) => one === session);
    const app = await own.registerApp();
    const login = await browser.open(authorizeUrl(own, app));
    t.deepEqual(browser.cookies, []);
    await signIn(browser, login);
    t.deepEqual(sessions(), [session]);
    for (const cookie of browser.cookies) {
      t.like(cookie, { secure: true, httpOnly: true, sameSite: 'lax' });
      t.true(cookie.path.startsWith(path));
    }

    await runGrants(t, own, { browser });
    const discovered = await send(own.reach(new URL(PUBLIC + METADATA + path)));
    t.notRegex(discovered.text, /http:/);
    t.like(discovered.body, { issuer: PUBLIC + path, token_endpoint: `${PUBLIC}${path}/oauth/token` });

    const page = await browser.open(own.url('/oauth/logout'));
    t.is((await browser.submit(page, 'Sign out')).status, 200);
    t.deepEqual(sessions(), []);
    t.is((await browser.open(authorizeUrl(own, app))).heading, 'Sign in');
  });
}

test('a Host header does not change redirects', async (t) => {
  await using proxy = await startProxy((path, headers) => ({
    path,
    headers: { ...headers, host: 'evil.example' },
  }));
  const app = hostApp({ proxy: true });
  await using own = await startPlatform({}, { path: '/auth', inFront: behind(proxy), app });
  const callback = await authorize(own, await own.registerApp());
  t.is(callback.get('iss'), `${proxy.origin}/auth`);
  t.notRegex((await send(own.url(METADATA))).text, /evil/);
});
