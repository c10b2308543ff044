import test from 'ava';
import Koa from 'koa';
import type { Middleware } from 'koa';

import { Browser } from '../harness/browser.ts';
import { authorize, authorizeUrl, listenerOf, signIn, startPlatform } from '../harness/platform.ts';
import type { Mounting } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { FORMATS, runGrants } from './flows.ts';
import { hostApp } from './host.ts';
import type { Report } from './host.ts';
import { startProxy } from './proxy.ts';

for (const path of ['/auth', '/a/b', '/v1.0', '/oauth', '/.well-known', '/my%20schools', '/Auth']) {
  test(`the issuer has a path, the server is mounted at the root of the app: ${path}`, async (t) => {
    await using platform = await startPlatform({}, { path, app: hostApp({ keys: ['of the host'] }) });
    for (const format of FORMATS) await runGrants(t, platform, { format });
  });
}

test('all URLs in the metadata begin with the issuer', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth', app: hostApp() });
  const issuer = `${platform.origin}/auth`;
  for (const path of [
    '/.well-known/oauth-authorization-server/auth',
    '/auth/.well-known/oauth-authorization-server',
  ]) {
    const { status, headers, body } = await send(platform.origin + path, {
      headers: { host: 'evil.example' },
    });
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
  await using platform = await startPlatform({}, { path: '/auth', app: hostApp() });
  for (const path of [
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/auth',
    '/auth/.well-known/openid-configuration',
    '/.well-known/oauth-authorization-server/authx',
    '/oauth/authorize',
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

test('a route of the host below the issuer’s path gets its full path', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth', app: hostApp() });
  for (const path of [
    '/auth/oauth/custom',
    '/auth/oauth/token/extra',
    '/auth/.well-known/security.txt',
    '/auth/report',
  ]) {
    const { status, headers, body } = await send(`${platform.origin}${path}?a=1&b=%2F`);
    t.is(status, 200, path);
    const report = body as unknown as Report;
    t.like(report, {
      path,
      url: `${path}?a=1&b=%2F`,
      originalUrl: `${path}?a=1&b=%2F`,
      query: { a: '1', b: '/' },
    });
    t.is(headers.get('x-logged'), `GET ${path} 200`);
  }
});

test('the host’s log has the full path, also of requests that the server answered', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth', app: hostApp() });
  const app = await platform.registerApp();
  const requests: [URL, string][] = [
    [platform.url('/oauth/jwks'), 'GET /auth/oauth/jwks 200'],
    [authorizeUrl(platform, app), 'GET /auth/oauth/authorize 303'],
    [platform.url('/oauth/authorize?client_id=x'), 'GET /auth/oauth/authorize 400'],
    [platform.url('/oauth/token'), 'GET /auth/oauth/token 405'],
    [platform.url('/oauth/interaction/x'), 'GET /auth/oauth/interaction/x 400'],
    [platform.url('/oauth/logout'), 'GET /auth/oauth/logout 200'],
  ];
  for (const [url, logged] of requests) t.is((await send(url)).headers.get('x-logged'), logged);
});

test('cookies have the issuer’s path', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth', app: hostApp() });
  const app = await platform.registerApp();
  const browser = new Browser();
  const login = await browser.open(authorizeUrl(platform, app));
  t.true(login.url.pathname.startsWith('/auth/oauth/interaction/'));
  t.deepEqual(cookiePaths(browser), []);
  await signIn(browser, login);
  t.true(cookiePaths(browser).includes(sessionOf(platform)));
  t.true(browser.cookies.every(({ path }) => path.startsWith('/auth')));
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
  app: ({ auth, api }) => {
    const app = new Koa();
    app.silent = true;
    app.use(mountAt('/auth', auth.middleware())).use(mountAt('/auth', api.routes() as Middleware));
    return listenerOf(
      app.use((ctx) => {
        ctx.body = { path: ctx.path };
      }),
    );
  },
};

test('below a mount that removes the path, with mountPath /', async (t) => {
  await using platform = await startPlatform({ paths: { mount: '/' } }, strippedByMount);
  for (const format of FORMATS) await runGrants(t, platform, { format });
  const { body } = await send(platform.url('/.well-known/oauth-authorization-server'));
  t.like(body, { issuer: `${platform.origin}/auth`, token_endpoint: `${platform.origin}/auth/oauth/token` });
  t.deepEqual((await send(platform.url('/oauth/custom'))).body, { path: '/auth/oauth/custom' });
  t.deepEqual((await send(`${platform.origin}/oauth/token`)).body, { path: '/oauth/token' });
});

test('the issuer’s path and the mount path may differ completely', async (t) => {
  await using proxy = await startProxy((path, headers) =>
    path.startsWith('/login/') ? { path: path.replace('/login/', '/internal/v2/'), headers } : undefined,
  );
  await using platform = await startPlatform(
    { paths: { mount: '/internal/v2/' } },
    { path: '/login', inFront: behind(proxy), app: hostApp() },
  );
  for (const format of FORMATS) await runGrants(t, platform, { format });
  t.true(proxy.passedOn.every((path) => path.startsWith('/internal/v2/')));
});

test('behind a reverse proxy that removes the path', async (t) => {
  await using proxy = await startProxy((path, { host: _host, ...headers }) =>
    path.startsWith('/auth/')
      ? { path: path.slice('/auth'.length), headers: { ...headers, 'x-forwarded-for': '203.0.113.7' } }
      : undefined,
  );
  await using platform = await startPlatform(
    { paths: { mount: '/' } },
    { path: '/auth', inFront: behind(proxy), app: hostApp({ keys: ['of the host'] }) },
  );
  t.is(platform.auth.issuer, `${proxy.origin}/auth`);
  const browser = new Browser();
  for (const format of FORMATS) await runGrants(t, platform, { format, browser });
  t.true(cookiePaths(browser).includes(sessionOf(platform)));
  t.true(proxy.passedOn.includes('/oauth/token'));
  const { body } = await send(platform.url('/.well-known/oauth-authorization-server'));
  t.like(body, { issuer: `${proxy.origin}/auth`, jwks_uri: `${proxy.origin}/auth/oauth/jwks` });

  const page = await browser.open(platform.url('/oauth/logout'));
  const done = await browser.submit(page, 'Sign out');
  t.is(done.status, 200);
  t.false(cookiePaths(browser).includes(sessionOf(platform)));
});

// On loopback the cookie's name contains the port, and everywhere its path is the issuer's.
function sessionOf({ auth }: { auth: { issuer: string } }): string {
  return `gatehouse_session_${new URL(auth.issuer).port}_auth /auth`;
}

const PUBLIC = 'https://platform.example';

for (const isTrusted of [true, false]) {
  for (const path of ['', '/auth']) {
    test(`behind a proxy that ends TLS: issuer ${PUBLIC}${path}, app.proxy ${isTrusted}`, async (t) => {
      await using proxy = await startProxy((passed, headers) => ({
        path: passed,
        headers: {
          ...headers,
          host: 'platform.example',
          'x-forwarded-proto': 'https',
          'x-forwarded-for': '203.0.113.7',
        },
      }));
      await using platform = await startPlatform(
        {},
        {
          path,
          inFront: (origin) => {
            proxy.forwardTo(origin);
            return PUBLIC;
          },
          reach: (url) => (url.origin === PUBLIC ? new URL(url.pathname + url.search, proxy.origin) : url),
          app: hostApp({ keys: ['of the host'], proxy: isTrusted }),
        },
      );
      t.is(platform.auth.issuer, PUBLIC + path);
      const browser = new Browser(platform.reach);
      const app = await platform.registerApp();
      const login = await browser.open(authorizeUrl(platform, app));
      const session = path === '' ? '__Host-gatehouse_session /' : '__Secure-gatehouse_session_auth /auth';
      t.deepEqual(cookiePaths(browser), []);
      await signIn(browser, login);
      t.true(cookiePaths(browser).includes(session), cookiePaths(browser).join(', '));
      for (const cookie of browser.cookies) t.like(cookie, { secure: true, httpOnly: true, sameSite: 'lax' });

      for (const format of FORMATS) await runGrants(t, platform, { format, browser });
      const discovered = await send(
        platform.reach(new URL(`${PUBLIC}/.well-known/oauth-authorization-server${path}`)),
      );
      t.notRegex(discovered.text, /http:/);
      t.like(discovered.body, { issuer: PUBLIC + path, token_endpoint: `${PUBLIC}${path}/oauth/token` });

      const page = await browser.open(platform.url('/oauth/logout'));
      t.is((await browser.submit(page, 'Sign out')).status, 200);
      t.false(cookiePaths(browser).includes(session));
      t.is((await browser.open(authorizeUrl(platform, app))).heading, 'Sign in');
    });
  }
}

test('a Host header does not change redirects', async (t) => {
  await using proxy = await startProxy((path, headers) => ({
    path,
    headers: { ...headers, host: 'evil.example' },
  }));
  await using platform = await startPlatform(
    {},
    { path: '/auth', inFront: behind(proxy), app: hostApp({ proxy: true }) },
  );
  const app = await platform.registerApp();
  const browser = new Browser();
  const callback = await authorize(platform, app, { browser });
  t.is(callback.get('iss'), `${proxy.origin}/auth`);
  const { text } = await send(platform.url('/.well-known/oauth-authorization-server'));
  t.notRegex(text, /evil/);
});

function behind(proxy: {
  origin: string;
  forwardTo(origin: string): void;
}): NonNullable<Mounting['inFront']> {
  return (origin) => {
    proxy.forwardTo(origin);
    return proxy.origin;
  };
}

/** Names and paths of the cookies, without signatures. */
function cookiePaths(browser: Browser): string[] {
  return browser.cookies
    .filter(({ name }) => !name.endsWith('.sig'))
    .map(({ name, path }) => `${name} ${path}`)
    .toSorted();
}
