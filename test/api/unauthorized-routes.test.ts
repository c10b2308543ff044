import { once } from 'node:events';
import { METHODS, request as send } from 'node:http';

import test from 'ava';
import { Router } from 'koa-router';

import { serveApi } from './api.ts';

/** Sends a path exactly as written, which fetch() would not. Resolves to the status. */
async function statusOf(origin: string, method: string, path: string): Promise<number | undefined> {
  const outgoing = send(origin, { method, path });
  outgoing.end();
  const [response] = await once(outgoing, 'response');
  response.resume();
  return response.statusCode;
}

const handled: string[] = [];

function handler(ctx: { url: string; body: unknown }): void {
  handled.push(ctx.url);
  ctx.body = 'a secret';
}

test('without a token no handler runs, whatever the kind of route, the method and the spelling of the path', async (t) => {
  const { origin } = await serveApi(t, (api) => {
    const nested = new Router();
    nested.all('/schools/:id', handler);
    nested.use('/schools', handler);
    api.all('/schools', handler);
    api.all('/', handler);
    api.all('/files/*path', handler);
    api.all(/secret/, handler);
    api.all(['/one', '/two'], handler);
    api.get('named', '/named/:id', handler);
    api.use('/nested', nested.routes());
    api.use(nested.routes());
    api.use('/schools', handler);
    api.use(handler);
    api.param('id', (_id, ctx) => handler(ctx));
    api.register('/registered', ['GET', 'PROPFIND'], handler);
    api.redirect('/moved', '/schools');
  });

  const paths = [
    '',
    '/schools',
    '/schools/7',
    '/files/a/b',
    '/x/secret',
    '/one',
    '/named/7',
    '/nested/schools/7',
    '/moved',
  ];
  const spellings: ((path: string) => string)[] = [
    (path) => `/api/v1${path}`,
    (path) => `/API/V1${path}`,
    (path) => `/api/v1${path.toUpperCase()}`,
    (path) => `/api/v1${path}/`,
    (path) => `/api/v1${path}//`,
    (path) => `//api/v1${path}`,
    (path) => `/api//v1${path}`,
    (path) => `/./api/v1${path}`,
    (path) => `/x/../api/v1${path}`,
    (path) => `/api/v1/../v1${path}`,
    (path) => `/api%2Fv1${path}`,
    (path) => `/%61pi/v1${path}`,
    (path) => `/api/v1${path};a=b`,
    (path) => `/api/v1${path}?a=/api/v1/identity`,
    (path) => `/api/v1${path}%00`,
    (path) => `/api/v1${path}%0a`,
    (path) => `/api/v1${path}%`,
    (path) => `/api/v1\\${path.slice(1)}`,
    (path) => path || '/',
    (path) => `/secret/api/v1${path}`,
    (path) => `http://127.0.0.1/api/v1${path}`,
    (path) => `http://other.example/api/v1${path}?#`,
  ];
  const methods = METHODS.filter((method) => method !== 'CONNECT');
  for (const path of paths) {
    for (const spell of spellings) {
      for (const method of methods) {
        const status = await statusOf(origin, method, spell(path));
        if (status !== 401 && status !== 404) t.fail(`${method} ${spell(path)}: ${status}`);
      }
    }
  }
  t.deepEqual(handled, []);
});
