import test from '../harness/test.ts';

import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { send } from '../harness/requests.ts';
import { clientToken } from '../harness/tokens.ts';
import type { Middleware } from 'koa';

const APP = 'https://app.example';

async function start(origins?: readonly string[] | '*', before?: Middleware): Promise<Platform> {
  return startPlatform(
    {},
    {
      before: before ? [before] : [],
      api: { ...(origins && { origins }), openapi: { access: 'public' } },
      behind: [
        (ctx, next) => {
          if (ctx.path !== '/api/v10') return next();
          ctx.body = 'of the host';
          return undefined;
        },
      ],
    },
  );
}

function preflight(platform: Platform, path: string, origin = APP) {
  const headers = {
    origin,
    'access-control-request-method': 'PUT',
    'access-control-request-headers': 'authorization',
  };
  return send(platform.url(path), { method: 'OPTIONS', headers });
}

test('pages of the origins may call each path of the API with a token, and read each answer', async (t) => {
  await using platform = await start([APP, 'http://localhost:5173']);
  const token = await clientToken(platform, await platform.registerService(['view_schools']));
  const authorization = `Bearer ${token}`;
  for (const origin of [APP, 'http://localhost:5173']) {
    const asked = await preflight(platform, '/api/v1/schools', origin);
    t.is(asked.status, 204);
    t.is(asked.headers.get('access-control-allow-origin'), origin);
    t.is(asked.headers.get('access-control-allow-headers'), '*, Authorization');
    t.is(asked.headers.get('access-control-allow-methods'), 'GET, HEAD, POST, PUT, PATCH, DELETE');
    t.is(asked.headers.get('access-control-allow-credentials'), null);
  }
  for (const [path, headers, status] of [
    ['/api/v1/schools', { authorization }, 200],
    ['/api/v1/identity', { authorization }, 200],
    ['/api/v1/openapi.json', {}, 200],
    ['/api/v1/schools', {}, 401],
    ['/api/v1/none', { authorization }, 404],
  ] as const) {
    const answer = await send(platform.url(path), { headers: { origin: APP, ...headers } });
    t.is(answer.status, status, path);
    t.is(answer.headers.get('access-control-allow-origin'), APP, path);
    t.is(answer.headers.get('access-control-expose-headers'), '*, Retry-After, WWW-Authenticate', path);
    t.true(answer.headers.get('vary')?.includes('Origin'), path);
  }
});

test('other origins, programs and paths of the host get no such fields, and no answer without a token', async (t) => {
  await using platform = await start([APP]);
  await using none = await start();
  for (const [one, origin] of [
    [platform, 'https://app.example.attacker.example'],
    [platform, 'null'],
    [none, APP],
  ] as const) {
    const asked = await preflight(one, '/api/v1/schools', origin);
    t.is(asked.status, 401, origin);
    t.is(asked.headers.get('access-control-allow-origin'), null, origin);
  }
  const program = await send(platform.url('/api/v1/schools'), { method: 'OPTIONS' });
  t.is(program.status, 401);
  // Not a preflight.
  const options = await send(platform.url('/api/v1/schools'), {
    method: 'OPTIONS',
    headers: { origin: APP },
  });
  t.is(options.status, 401);
  const ofHost = await preflight(platform, '/api/v10');
  t.is(ofHost.text, 'of the host');
  t.is(ofHost.headers.get('access-control-allow-origin'), null);
});

test("'*' is every origin, and fields that the host has set stay", async (t) => {
  await using platform = await start('*');
  const asked = await preflight(platform, '/api/v1/schools', 'https://any.example');
  t.is(asked.status, 204);
  t.is(asked.headers.get('access-control-allow-origin'), '*');
  await using own = await start([APP], async (ctx, next) => {
    ctx.set('Access-Control-Allow-Origin', 'https://other.example');
    await next();
  });
  const answer = await send(own.url('/api/v1/schools'), { headers: { origin: APP } });
  t.is(answer.headers.get('access-control-allow-origin'), 'https://other.example');
  t.is(answer.headers.get('access-control-expose-headers'), null);
});
