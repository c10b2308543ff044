import test from '../../harness/test.ts';

import { Browser } from '../../harness/browser.ts';
import { authorizeUrl } from '../../harness/platform.ts';
import { postForm, postJson, send } from '../../harness/requests.ts';
import { asClient } from '../../harness/tokens.ts';
import { startWholeServer } from '../../security/whole-server.ts';

// Koa calls it for each parameter, and each call reads all of them.
const getAll = Reflect.get(URLSearchParams.prototype, 'getAll');
let calls = 0;
URLSearchParams.prototype.getAll = function count(name) {
  calls += 1;
  return getAll.call(this, name);
};

const MANY = 'a&'.repeat(7000);
const REASON = 'the URL has more than 100 parameters';

test('more than a hundred parameters are refused before anything reads them, at every path', async (t) => {
  const platform = await startWholeServer(t);
  const app = await platform.registerApp();
  const user = (await platform.signInAs('dora')).cookieField;
  const oauth = [
    '/oauth/token',
    '/oauth/revoke',
    '/oauth/introspect',
    '/oauth/register',
    '/oauth/userinfo',
    '/oauth/device_authorization',
    '/oauth/jwks',
    '/.well-known/oauth-authorization-server',
    '/.well-known/openid-configuration',
    '/.well-known/oauth-protected-resource',
  ];
  const pages = [
    `/oauth/authorize${authorizeUrl(platform, app).search}&nonce=n&`,
    '/oauth/login?',
    '/oauth/logout?',
    '/oauth/device?',
    '/oauth/interaction/x?',
    '/account/apps?',
    '/account/tokens?',
    '/developer/apps?',
  ];
  for (const method of ['GET', 'POST']) {
    for (const path of oauth) {
      const { body, status } = await send(platform.url(`${path}?${MANY}`), { method });
      t.is(status, 400, path);
      t.deepEqual(body, { error: 'invalid_request', error_description: REASON }, path);
    }
    for (const path of pages) {
      for (const cookie of ['', user]) {
        const { headers, status, text } = await send(platform.url(path + MANY), {
          method,
          headers: { cookie },
        });
        t.is(status, 400, path);
        t.is(headers.get('content-type'), 'text/html; charset=utf-8', path);
        t.true(text.includes('invalid_request'), path);
        t.true(text.includes(REASON), path);
      }
    }
  }
  for (const path of ['/api/v1/identity', '/api/v1/openapi.json', '/mcp', '/livez', '/readyz']) {
    const { body, headers, status } = await send(platform.url(`${path}?${MANY}`));
    t.is(status, 400, path);
    t.is(headers.get('content-type'), 'application/problem+json; charset=utf-8', path);
    t.like(body, { code: 'too_many_parameters', detail: 'The URL has more than 100 parameters.' }, path);
  }
  t.true(calls < 1000, `${calls} calls`);
});

test('a hundred parameters are read, and those of the host’s routes are the host’s', async (t) => {
  const platform = await startWholeServer(t);
  const app = await platform.registerApp();
  const url = authorizeUrl(platform, app);
  const given = url.searchParams.size;
  const browser = new Browser(platform.reach);
  for (const [more, status] of [
    [100 - given, 200],
    [101 - given, 400],
    [100 - given, 200],
  ] as const) {
    const page = await browser.open(new URL(`${url.href}${'&a'.repeat(more)}`));
    t.is(page.status, status);
  }
  for (const path of ['/', '/oauth/own', '/.well-known/own']) {
    const { status, text } = await send(platform.url(`${path}?${'a&'.repeat(200)}`));
    t.is(status, 200, path);
    t.is(text, 'the host’s', path);
  }
  const refused = platform.logger.lines.filter(({ message }) => message === 'authorization refused');
  t.like(refused, { length: 1 });
  t.like(refused[0]!.fields, { status: 400, error: 'invalid_request', reason: REASON });
});

function unknown(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [`x${index}`, 'x']));
}

test('a body of an endpoint for clients has a hundred parameters at most', async (t) => {
  const platform = await startWholeServer(t);
  const service = await platform.registerService();
  const fields = { grant_type: 'client_credentials', ...asClient(service) };
  const given = Object.keys(fields).length;
  for (const path of ['token', 'revoke', 'introspect', 'device_authorization']) {
    const url = platform.url(`/oauth/${path}`);
    for (const post of [postForm, postJson]) {
      const { body, status } = await post(url, { ...fields, ...unknown(101 - given) });
      t.is(status, 400, path);
      const reason = 'The body has more than 100 parameters.';
      t.deepEqual(body, { error: 'invalid_request', error_description: reason }, path);
    }
  }
  for (const post of [postForm, postJson])
    t.is((await post(platform.url('/oauth/token'), { ...fields, ...unknown(100 - given) })).status, 200);
});
