import test from '../../harness/test.ts';
import type { Middleware } from 'koa';
import { createAdministration, StorageError } from 'koa-gatehouse';
import type { Finding } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { startProxy } from '../../embedding/proxy.ts';
import { like } from '../../harness/like.ts';
import { startPlatform } from '../../harness/platform.ts';
import { serve } from '../../harness/serve.ts';
import { around } from '../../harness/storage.ts';

/** The findings about a server, with its database. */
async function check(issuer: string, storage = memoryStorage()): Promise<readonly Finding[]> {
  const found = await createAdministration({ storage }).doctor({ issuer });
  return found.filter(({ code }) => code !== 'signing_key_missing');
}

async function withApp(): Promise<ReturnType<typeof memoryStorage>> {
  const storage = memoryStorage();
  await createAdministration({ storage }).clients.create({
    name: 'Portal',
    grantType: 'authorization_code',
    redirectUris: ['https://portal.example/callback'],
  });
  return storage;
}

test('a server at its issuer has no findings, with a path and without', async (t) => {
  for (const path of ['', '/auth']) {
    const storage = await withApp();
    await using platform = await startPlatform({ storage }, { path });
    t.deepEqual(await check(platform.auth.issuer, storage), [], path);
  }
});

test('no server answers at the issuer', async (t) => {
  const { origin, ...stopped } = await serve(() => () => {});
  await stopped[Symbol.asyncDispose]();
  t.deepEqual(await check(origin), [
    {
      code: 'issuer_unreachable',
      severity: 'error',
      message: `Nothing answers at ${origin}/.well-known/oauth-authorization-server: ECONNREFUSED.`,
      remedy:
        'Start the server, and check that its host name, port, certificate and proxy can be reached from this machine.',
    },
  ]);
  await using http = await serve(() => (_request, response) => void response.end());
  await using silent = await serve(() => () => {});
  const reasons = [
    ['https://gatehouse.invalid', /: (ENOTFOUND|EAI_AGAIN)\.$/],
    [http.origin.replace('http:', 'https:'), /: ERR_SSL_\w+\.$/],
    [silent.origin, /: no answer within 5 s\.$/],
  ] as const;
  const startedAt = performance.now();
  const checked = await Promise.all(reasons.map(async ([issuer]) => check(issuer)));
  for (const [index, [found]] of checked.entries()) {
    t.is(found!.code, 'issuer_unreachable');
    t.regex(found!.message, reasons[index]![1]);
  }
  t.true(performance.now() - startedAt < 30_000);
});

test('a proxy that forwards only the metadata is reported', async (t) => {
  await using platform = await startPlatform({}, { path: '/auth' });
  const { origin } = platform;
  await using proxy = await serve(() => (request, response) => {
    const { headers, url = '' } = request;
    if (url.startsWith('/.well-known/')) {
      void fetch(new URL(url, origin)).then(async (answer) =>
        response.end((await answer.text()).replaceAll(origin, `http://${headers.host}`)),
      );
    } else {
      response.writeHead(404).end();
    }
  });
  t.deepEqual(await check(`${proxy.origin}/auth`), [
    {
      code: 'endpoints_unreachable',
      severity: 'error',
      message: `The server's public keys are not at ${proxy.origin}/auth/oauth/jwks, the jwks_uri of its metadata: the response was 404.`,
      remedy:
        'Let the proxy pass /oauth/ to the server; if it removes the path of the issuer, set the option paths.mount.',
    },
  ]);
});

test('the response is not the metadata', async (t) => {
  for (const [what, answer, message] of [
    ['a page', { status: 200, body: '<h1>Welcome</h1>' }, 'the response was 200'],
    ['other JSON', { status: 200, body: '[1]' }, 'the response was 200'],
    ['a login', { status: 302, location: '/login' }, 'the response was 302 to /login'],
    ['a proxy without a server', { status: 502, body: 'Bad gateway' }, 'the response was 502'],
  ] as const) {
    await using server = await serve(() => (_request, response) => {
      response.writeHead(answer.status, 'location' in answer ? { location: answer.location } : {});
      response.end('body' in answer ? answer.body : '');
    });
    const [found, ...others] = await check(server.origin);
    t.like(
      found,
      {
        code: 'metadata_missing',
        severity: 'error',
        message: `${server.origin}/.well-known/oauth-authorization-server is not the metadata of an authorization server: ${message}.`,
      },
      what,
    );
    t.deepEqual(others, []);
  }
});

test('the issuer in the metadata differs from the address', async (t) => {
  await using proxy = await startProxy((path, headers) => ({ path, headers }));
  await using platform = await startPlatform();
  proxy.forwardTo(platform.origin);
  like(t, await check(proxy.origin), [
    {
      code: 'issuer_differs',
      severity: 'error',
      message: `The server at ${proxy.origin} has another issuer in its metadata: ${platform.origin}.`,
    },
  ]);
});

test('a proxy that forwards the path of the issuer only', async (t) => {
  const storage = await withApp();
  await using proxy = await startProxy((path, headers) =>
    path.startsWith('/auth/') ? { path, headers } : undefined,
  );
  await using _platform = await startPlatform(
    { storage },
    {
      path: '/auth',
      inFront: (origin) => {
        proxy.forwardTo(origin);
        return proxy.origin;
      },
    },
  );
  like(t, await check(`${proxy.origin}/auth`, storage), [
    {
      code: 'metadata_misplaced',
      severity: 'warning',
      message: `Clients look for the server's metadata at ${proxy.origin}/.well-known/oauth-authorization-server/auth (RFC 8414), but it is only at ${proxy.origin}/auth/.well-known/oauth-authorization-server.`,
    },
  ]);
});

test('endpoints in the metadata with another host', async (t) => {
  await using server = await serve((origin) => (_request, response) => {
    response.end(
      JSON.stringify({
        issuer: origin,
        authorization_endpoint: `${origin}/oauth/authorize`,
        token_endpoint: 'http://internal:3000/oauth/token',
        jwks_uri: `${origin}.evil.example/jwks`,
      }),
    );
  });
  like(t, await check(server.origin), [
    {
      code: 'endpoints_elsewhere',
      message: `The server at ${server.origin} has endpoints in its metadata with another scheme, host or path: token_endpoint http://internal:3000/oauth/token, jwks_uri ${server.origin}.evil.example/jwks.`,
    },
  ]);
});

test('a server that does not know the clients of this database', async (t) => {
  await using platform = await startPlatform();
  like(t, await check(platform.auth.issuer, await withApp()), [
    {
      code: 'authorization_unanswered',
      severity: 'warning',
      message: `An authorization request of "Portal" to ${platform.auth.issuer}/oauth/authorize was answered with 400 and does not lead to the login page.`,
    },
  ]);
});

test.serial(
  'cookies of an https server are Secure, and a proxy that removes the attribute is reported',
  async (t) => {
    const issuer = 'https://platform.example';
    const storage = await withApp();
    let served = '';
    const inFront = (origin: string): string => {
      served = origin;
      return issuer;
    };
    await using _platform = await startPlatform({ storage }, { inFront });
    const real = globalThis.fetch;
    const behind = (change: (response: Response) => Response): void => {
      globalThis.fetch = async (url, init) =>
        change(await real((url as string).replace(issuer, served), init));
    };
    try {
      behind((response) => response);
      t.deepEqual(await check(issuer, storage), []);
      behind((response) => withCookies(response, () => []));
      like(t, await check(issuer, storage), [{ code: 'cookies_lost', severity: 'error' }]);
      behind(elsewhere);
      like(t, await check(issuer, storage), [{ code: 'authorization_unanswered' }]);
      behind((response) => withCookies(response, (cookie) => [cookie.replace(/; secure/i, '')]));
      const [found, ...more] = await check(issuer, storage);
      t.like(found, { code: 'cookies_insecure', severity: 'error' });
      t.regex(
        found!.message,
        /^Cookies of https:\/\/platform\.example\/oauth\/logout lack the attribute Secure: __Host-gatehouse_session\b/,
      );
      t.deepEqual(more, []);
    } finally {
      globalThis.fetch = real;
    }
  },
);

function withCookies(response: Response, change: (cookie: string) => readonly string[]): Response {
  const headers = new Headers(response.headers);
  headers.delete('set-cookie');
  for (const cookie of response.headers.getSetCookie().flatMap(change)) headers.append('set-cookie', cookie);
  return new Response(response.body, { status: response.status, headers });
}

/** Like a proxy that knows the server by another name. */
function elsewhere(response: Response): Response {
  const location = response.headers.get('location');
  if (location === null) return response;
  const headers = new Headers(response.headers);
  headers.set('location', new URL(location, 'http://internal:3000').href);
  return new Response(response.body, { status: response.status, headers });
}

test('the issuer is checked even if the database does not answer', async (t) => {
  await using platform = await startPlatform();
  const away = around(memoryStorage(), async () => {
    throw new StorageError('The database could not be used (ECONNREFUSED).');
  });
  const found = await check(`${platform.auth.issuer}/elsewhere`, away);
  t.deepEqual(
    found.map(({ code }) => code),
    ['database_unreachable', 'metadata_missing'],
  );
  like(t, await check(platform.auth.issuer, away), [{ code: 'database_unreachable' }]);
});

test('middleware in front that refuses posts, or replaces bodies, is found', async (t) => {
  const storage = await withApp();
  const inFront: Readonly<Record<string, Middleware>> = {
    'all posts': async (ctx, next) => {
      if (ctx.method !== 'POST') return next();
      ctx.status = 403;
      ctx.body = 'invalid csrf token';
      return undefined;
    },
    'forms of pages': async (ctx, next) => {
      if (ctx.method !== 'POST' || ctx.path !== '/oauth/logout') return next();
      ctx.status = 403;
      return undefined;
    },
    bodies: async (ctx, next) => {
      await next();
      if (ctx.status >= 400) ctx.body = { message: 'Something is wrong' };
    },
  };
  for (const [what, codes] of [
    ['all posts', ['posts_answered_by_others', 'forms_refused']],
    ['forms of pages', ['forms_refused']],
    ['bodies', ['posts_answered_by_others']],
  ] as const) {
    await using platform = await startPlatform({ storage }, { before: [inFront[what]!] });
    const found = await check(platform.auth.issuer, storage);
    t.deepEqual(
      found.map(({ code }) => code),
      [...codes],
      what,
    );
    t.regex(found[0]!.remedy, /in front of middleware that checks CSRF tokens/);
  }
});

test('an invalid issuer is an error', async (t) => {
  const operator = createAdministration({ storage: memoryStorage() });
  for (const issuer of [
    'platform',
    'http://platform.example',
    'https://u:p@platform.example',
    'https://platform.example/?a',
  ]) {
    await t.throwsAsync(operator.doctor({ issuer }), { code: 'ERR_CONFIG', message: /^issuer: / });
  }
});
