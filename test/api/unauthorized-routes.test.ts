import { once } from 'node:events';
import { METHODS, request as send } from 'node:http';

import test from '../harness/test.ts';
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

const PATHS = '/schools /schools/7 /files/a/b /x/secret /one /named/7 /nested/schools/7 /moved'.split(' ');

/** Of `/schools` and the like, below the prefix and elsewhere. */
const spellingsOf = (path: string): string[] => [
  `/api/v1${path}`,
  `/API/V1${path}`,
  `/api/v1${path.toUpperCase()}`,
  ...['/', '//', ';a=b', '?a=/api/v1/identity', '%00', '%0a', '%'].map((end) => `/api/v1${path}${end}`),
  ...['//api/v1', '/api//v1', '/./api/v1', '/x/../api/v1', '/api/v1/../v1', '/api%2Fv1', '/%61pi/v1']
    .concat(['/secret/api/v1', 'http://127.0.0.1/api/v1', ''])
    .map((prefix) => prefix + (path || '/')),
  `/api/v1\\${path.slice(1)}`,
  `http://other.example/api/v1${path}?#`,
];

test('without a token no handler runs, whatever the kind of route, the method and the spelling of the path', async (t) => {
  const handled: string[] = [];
  const handler = (ctx: { url: string; body: unknown }): void => {
    handled.push(ctx.url);
    ctx.body = 'a secret';
  };
  const { origin } = await serveApi(t, (api) => {
    const nested = new Router();
    nested.all('/schools/:id', handler);
    nested.use('/schools', handler);
    api.all('/schools', handler);
    api.all('/', handler);
    api.all('/files/*path', handler);
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
  for (const path of ['', ...PATHS]) {
    for (const [index, spelling] of spellingsOf(path).entries()) {
      // All methods for the plain spelling.
      const methods = index > 0 ? ['GET', 'POST', 'HEAD'] : METHODS.filter((method) => method !== 'CONNECT');
      for (const method of methods) {
        const status = await statusOf(origin, method, spelling);
        if (status !== 401 && status !== 404) t.fail(`${method} ${spelling}: ${status}`);
      }
    }
  }
  t.deepEqual(handled, []);
});
