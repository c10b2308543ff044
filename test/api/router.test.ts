import test from '../harness/test.ts';
import { Router } from 'koa-router';

import { createApiRouter } from '../../lib/api/router.ts';
import type { ApiRouter } from '../../lib/api/router.ts';
import type { Gate } from '../../lib/contracts/index.ts';
import { ConfigError } from '../../lib/errors.ts';
import { createPlatform } from '../access/platform.ts';
import type { Permission, Person } from '../access/platform.ts';
import { request } from '../harness/requests.ts';
import { like } from '../harness/like.ts';
import { authOf, serveApi } from './api.ts';

test('a route of the host runs behind the guard and its permission', async (t) => {
  const { call, platform } = await serveApi(t, (api, { requires }) => {
    api.get('/schools', requires('view_schools'), (ctx) => {
      const { user, client } = ctx.state;
      ctx.body = { data: [], caller: user ? `${user.id} (${user.roles.join()})` : client.name };
    });
    api.post('/grades', requires('view_grades'), (ctx) => {
      ctx.status = 201;
    });
  });
  const asUser = await call('/schools', await platform.userToken());
  t.is(asUser.status, 200);
  t.deepEqual(asUser.body, { data: [], caller: 'ann (registrar)' });
  t.is((await call('/schools', await platform.clientToken())).body['caller'], 'Sync');
  t.is((await call('/schools')).status, 401);
  const refused = await call('/grades', await platform.userToken(), { method: 'POST' });
  t.is(refused.status, 403);
  t.is(refused.body['code'], 'missing_permission');
  t.is(refused.body['message'], 'You may not see grades.');
});

test('an unknown path is 404, and 401 without a token', async (t) => {
  const { call, platform } = await serveApi(t);
  for (const path of ['', '/', '/nothing', '/identity/more', '/Identity']) {
    const { status, body } = await call(path, await platform.userToken());
    t.is(status, 404, path);
    t.is(body['code'], 'not_found');
    t.is(body['message'], 'The API has no route with this path.');
    t.is((await call(path)).status, 401, path);
  }
});

test('a wrong method is 405 with Allow, OPTIONS lists the methods; both need a valid token', async (t) => {
  const { call, platform } = await serveApi(t, (api) => {
    api.post('/identity', (ctx) => {
      ctx.body = {};
    });
  });
  const path = '/identity';
  const token = await platform.userToken();
  const refused = await call(path, token, { method: 'DELETE' });
  t.is(refused.status, 405);
  t.is(refused.body['code'], 'method_not_allowed');
  t.is(refused.body['message'], 'This path takes HEAD, GET, POST.');
  t.is(refused.headers.get('allow'), 'HEAD, GET, POST, OPTIONS');
  const options = await call(path, token, { method: 'OPTIONS' });
  t.is(options.status, 204);
  t.is(options.headers.get('allow'), 'HEAD, GET, POST, OPTIONS');
  for (const method of ['DELETE', 'OPTIONS']) {
    const { status, headers } = await call(path, undefined, { method });
    t.is(status, 401);
    t.is(headers.get('allow'), null);
  }
});

test('below the path of the API, middleware behind the router needs a token, and middleware in front of it does not', async (t) => {
  const { origin, platform } = await serveApi(t, {
    before: [
      (ctx, next) => {
        if (!ctx.path.startsWith('/api/v1/legacy')) return next();
        ctx.body = 'with its own login';
        return undefined;
      },
    ],
    behind: [
      (ctx) => {
        const { user } = ctx.state as { user?: Person };
        if (ctx.path === '/api/v1/health') ctx.body = { caller: user?.id };
        if (ctx.path === '/api/v1/broken') throw new TypeError('an error of the host');
        if (ctx.path === '/api/v10' || ctx.path === '/API/v1/health') ctx.status = 204;
        if (ctx.path === '/api/v1/raw') {
          ctx.respond = false;
          setImmediate(() => ctx.res.end('of the host'));
        }
      },
    ],
  });
  const token = await platform.userToken();
  t.is((await request(`${origin}/api/v1/legacy`)).text, 'with its own login');
  for (const path of ['/health', '/broken', '/raw']) {
    const { body, status } = await request(`${origin}/api/v1${path}`);
    t.is(status, 401, path);
    t.is(body['code'], 'token_missing');
  }
  t.deepEqual((await request(`${origin}/api/v1/health`, token)).body, { caller: 'ann' });
  t.like(await request(`${origin}/api/v1/broken`, token), { status: 500, body: { code: 'internal_error' } });
  t.like(await request(`${origin}/api/v1/raw`, token), { status: 404, text: 'of the host' });
  for (const path of ['/api/v10', '/API/v1/health']) t.is((await request(origin + path)).status, 204, path);
  const elsewhere = await request(`${origin}/api/v11`);
  t.is(elsewhere.status, 404);
  t.is(elsewhere.type, 'text/plain; charset=utf-8', 'not answered by the router');
});

test('mounting the router in another router is an error, because the guard would not run', (t) => {
  const api = createApiRouter({ auth: authOf(createPlatform()) });
  for (const mount of [
    () => new Router().use(api.routes()),
    () => new Router().use('/x', api.routes()),
    () => new Router().use(api.middleware()),
  ]) {
    t.throws(mount, {
      instanceOf: ConfigError,
      message: /^createApiRouter: mount its routes\(\) on the app, not in another router/,
    });
  }
});

test('what the host runs for a parameter runs behind the guard, also when it was added after a request', async (t) => {
  const seen: string[] = [];
  const { api, call, platform } = await serveApi(t, (router) => {
    router.get('/schools/:id', (ctx) => {
      ctx.body = { id: ctx.params['id'], caller: ctx.state.user?.id };
    });
  });
  const token = await platform.userToken();
  const path = '/schools/12';
  t.deepEqual((await call(path, token)).body, { id: '12', caller: 'ann' });
  api.param('id', (id, ctx, next) => {
    seen.push(`${id} of ${ctx.state.user?.id}`);
    return next();
  });
  t.is((await call(path)).status, 401);
  t.deepEqual(seen, []);
  t.deepEqual((await call(path, token)).body, { id: '12', caller: 'ann' });
  t.deepEqual(seen, ['12 of ann']);
});

test('no route, middleware or parameter of the host runs for the routes of the API itself', async (t) => {
  const ran: string[] = [];
  const { call, platform } = await serveApi(t, (api) => {
    api.use((ctx, next) => {
      ran.push(ctx.path);
      return next();
    });
    api.all('/*path', (ctx) => {
      ctx.body = 'of the host';
    });
    api.param('type', (type, _ctx, next) => {
      ran.push(type);
      return next();
    });
  });
  const token = await platform.userToken();
  t.like((await call('/identity', token)).body, { data: { type: 'user' } });
  t.is((await call('/objects/school', token)).status, 501);
  t.deepEqual(ran, []);
  t.is((await call('/identity', token, { method: 'DELETE' })).text, 'of the host');
  t.is((await call('/identities', token)).text, 'of the host');
});

test('prefix() of the router is an error with the option to set', (t) => {
  const api = createApiRouter({ auth: authOf(createPlatform()) });
  t.throws(() => api.prefix('/v2'), {
    instanceOf: ConfigError,
    message:
      'createApiRouter: set the option prefix instead of calling prefix(), which would move neither the guard nor the description of the API',
  });
});

const REFUSED =
  "createApiRouter: write a path such as '/schools/:id' instead of the regular expression /secret/, which koa-router compares with the whole path of a request, without the prefix";

function handler(): void {}

test('a route that is a regular expression is an error when the router is mounted', (t) => {
  const add: readonly ((api: ApiRouter<Gate<Permission>, Person>) => unknown)[] = [
    (api) => api.get(/secret/, handler),
    (api) => api.all('named', /secret/, handler),
    (api) => api.use(/secret/, handler),
    (api) => api.use('/nested', new Router().get(/secret/, handler).routes()),
  ];
  for (const one of add) {
    const api = createApiRouter({ auth: authOf(createPlatform()) });
    one(api);
    t.throws(() => api.routes(), { instanceOf: ConfigError, message: REFUSED });
  }
});

test('a regular expression that is added to a mounted router answers nothing, and the log says why', async (t) => {
  const { api, call, errors, platform } = await serveApi(t);
  const ran: string[] = [];
  api.all(/secret/, (ctx) => {
    ran.push(ctx.path);
  });
  t.is((await call('/secret')).status, 401);
  t.like(await call('/secret', await platform.userToken()), {
    status: 500,
    body: { code: 'internal_error' },
  });
  t.deepEqual(ran, []);
  t.deepEqual(errors, []);
  like(t, platform.log, [{ fields: { err: { message: REFUSED } } }]);
});

test('the planned paths of the Objects API answer 501, and 401 without a token', async (t) => {
  const { call, platform } = await serveApi(t);
  const token = await platform.userToken();
  for (const path of [
    '/objects/school',
    '/objects/school/7',
    '/objects/school/schema',
    '/objects/school/actions',
  ]) {
    const { status, body } = await call(path, token);
    t.is(status, 501, path);
    t.is(body['code'], 'not_implemented');
    t.is(body['title'], 'Not Implemented');
    t.is(body['message'], 'The Objects API is planned and not available yet.');
    t.is((await call(path)).status, 401, path);
  }
  const { status, headers } = await call('/objects/school', token, { method: 'POST' });
  t.is(status, 405);
  t.is(headers.get('allow'), 'HEAD, GET, OPTIONS');
});
