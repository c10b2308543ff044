import type { RequestListener } from 'node:http';

import express from 'express';
import test from '../harness/test.ts';

import { runGrants } from '../embedding/flows.ts';
import { Browser } from '../harness/browser.ts';
import { runCodeFlow, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import type { RawResponse } from '../harness/raw-connection.ts';
import { send } from '../harness/requests.ts';
import { exchangeRefreshToken } from '../harness/tokens.ts';

function errorsIn({ logger }: Pick<Platform, 'logger'>): readonly object[] {
  return logger.lines.filter(({ level }) => level === 'error');
}

test('a request that falls through keeps its status, URL and header fields, and has no listener more', async (t) => {
  const seen: unknown[] = [];
  await using platform = await startPlatform(
    {},
    {
      app: ({ auth, api }): RequestListener => {
        const handle = auth.callback(api.routes());
        return (request, response) => {
          response.statusCode = 299;
          response.setHeader('X-Host', '1');
          const before = stateOf(request, response);
          handle(request, response, (error) => {
            seen.push(error, before, stateOf(request, response));
            response.end();
          });
        };
      },
    },
  );
  const answer = await send(platform.url('/somewhere?a=1&a=2'), { method: 'POST', body: 'text' });
  t.is(answer.status, 299);
  const [error, before, after] = seen;
  t.is(error, undefined);
  t.deepEqual(after, before);
});

function listenersOf(from: NodeJS.EventEmitter): object {
  return Object.fromEntries(from.eventNames().map((name) => [String(name), from.listenerCount(name)]));
}

function stateOf(...[request, response]: Parameters<RequestListener>): object {
  return {
    status: response.statusCode,
    headers: { ...response.getHeaders() },
    url: request.url,
    isRead: request.readableDidRead,
    listeners: [request, response, request.socket].map(listenersOf),
  };
}

test('whatever may be answered is looked at, however its path is written; the rest goes on at once', async (t) => {
  const seen: string[] = [];
  await using platform = await startPlatform(
    {},
    {
      app: ({ auth, api }): RequestListener => {
        const handle = auth.callback(api.routes());
        const all = auth.callback((ctx, next) => {
          seen.push(ctx.path);
          if (ctx.path === '/of-host/api') ctx.path = '/api/v1/identity';
          return next();
        }, api.routes());
        return (request, response) => {
          if (request.url?.startsWith('/of-host/'))
            return all(request, response, () => response.end('passed on'));
          let isAtOnce = true;
          handle(request, response, () => response.end(isAtOnce ? 'at once' : 'later'));
          isAtOnce = false;
        };
      },
    },
  );
  const { auth, origin } = platform;
  const connection = await RawConnection.open(origin);
  // Other clients change the target of a request.
  const answerTo = async (target: string): Promise<RawResponse> => {
    connection.write(`GET ${target} HTTP/1.1\r\nHost: localhost\r\n\r\n`);
    return connection.answer();
  };
  for (const target of ['/', '/schools?at=/livez', '/oauthor/login', '/livez/1', '/oauth', '/apis'])
    t.is((await answerTo(target)).body, 'at once', target);
  for (const target of ['/.well-known/security.txt', '/oauth/none'])
    t.is((await answerTo(target)).body, 'later', target);
  for (const [target, status] of [
    ['/livez?a=1', 200],
    ['/livez#top', 200],
    [`${origin}/livez`, 200],
    ['/OAuth/JWKS/', 200],
    ['/oauth/login', 200],
    ['/.well-known/oauth-authorization-server', 200],
    ['/api/v1', 401],
    ['/api/v1/identity?a', 401],
  ] as const)
    t.is((await answerTo(target)).status, status, target);
  t.is((await answerTo('/of-host/none')).body, 'passed on');
  t.is((await answerTo('/of-host/api')).status, 401);
  t.deepEqual(seen, ['/of-host/none', '/of-host/api'], 'it is not known what a middleware of the host does');

  await auth.close();
  const last = await answerTo('/');
  t.deepEqual([last.body, last.headers.get('connection')], ['later', 'close'], 'as in a Koa app');
});

function fail(): never {
  throw new Error('of the middleware');
}

test('what a given middleware throws goes to the host, with the status of before; without a host it is a 500', async (t) => {
  const errors: unknown[] = [];
  await using platform = await startPlatform(
    {},
    {
      app: ({ auth }): RequestListener => {
        const handle = auth.callback(fail);
        return (request, response) => {
          if (request.url === '/alone') return handle(request, response);
          return handle(request, response, (error) => {
            errors.push(error);
            response.end();
          });
        };
      },
    },
  );
  t.is((await send(platform.url('/behind'))).status, 200);
  t.like(errors[0], { message: 'of the middleware' });
  t.is((await send(platform.url('/alone'))).status, 500);
  t.is(errorsIn(platform).length, 1);
});

test('below a path of Express, with paths.mount', async (t) => {
  await using platform = await startPlatform(
    { paths: { mount: '/' } },
    {
      path: '/auth',
      app: ({ auth, api }) => {
        const handle = auth.callback(api.routes());
        return express()
          .use('/auth', handle)
          .get('/auth/own', (request, response) => void response.send(request.url));
      },
    },
  );
  await runGrants(t, platform);
  t.is((await send(`${platform.origin}/auth/own?a`)).text, '/auth/own?a');
});

test('an error of the user store is answered and logged here, and the host is not asked', async (t) => {
  const passed: unknown[] = [];
  await using platform = await startPlatform(
    {},
    {
      app: ({ auth, api }): RequestListener => {
        const handle = auth.callback(api.routes());
        return (request, response) =>
          handle(request, response, (error) => {
            passed.push(error ?? request.url);
            response.end();
          });
      },
    },
  );
  const app = await platform.registerApp();
  const tokens = await runCodeFlow(platform, app);
  platform.users.find = async () => fail();
  const refreshed = await exchangeRefreshToken(platform, app, tokens.body.refresh_token);
  t.is(refreshed.status, 500);
  t.like(refreshed.body, { error: 'server_error' });
  platform.users.verifyPassword = async () => fail();
  const browser = new Browser();
  const login = await browser.open(platform.url('/oauth/login'));
  const page = await browser.submit(login, 'Sign in', { login: 'ann@school.example', password: 'x' });
  t.is(page.status, 500);
  t.regex(page.text, /Reference/);
  t.is(errorsIn(platform).length, 2);
  t.deepEqual(passed, []);
});

test('what is no middleware is named', async (t) => {
  await using platform = await startPlatform();
  t.throws(() => platform.auth.callback('routes' as never), {
    code: 'ERR_CONFIG',
    message: /^callback\(0\): pass functions of Koa, such as/,
  });
});
