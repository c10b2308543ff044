import { Readable } from 'node:stream';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import type { Middleware } from 'koa';

import {
  BodyError,
  ClientInvalidError,
  GatehouseError,
  InteractionExpiredError,
  MigrationsPendingError,
  StorageError,
} from '../../lib/errors.ts';
import { problems, sendProblem } from '../../lib/http/problem.ts';
import { createPlatform } from '../access/platform.ts';
import type { Platform } from '../access/platform.ts';
import { request, serve } from '../access/serve.ts';
import type { Answer } from '../access/serve.ts';

async function answerOf(
  t: ExecutionContext,
  handler: Middleware,
): Promise<Answer & { log: Platform['log'] }> {
  const { logger, log } = createPlatform();
  const app = new Koa();
  app.silent = true;
  app.use(problems({ logger }));
  app.use(handler);
  return { ...(await request(`${await serve(t, app)}/path?code=secret`)), log };
}

function thrower(error: unknown): Middleware {
  return () => {
    throw error;
  };
}

test('a problem has type, title, status, detail, code, message and extension members', async (t) => {
  const { status, type, body, headers } = await answerOf(t, (ctx) => {
    sendProblem(ctx, {
      status: 409,
      code: 'name_taken',
      detail: 'Taken: </script>.',
      members: { name: 'x' },
    });
  });
  t.is(status, 409);
  t.is(type, 'application/problem+json; charset=utf-8');
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('cache-control'), 'no-store');
  t.deepEqual(body, {
    type: 'about:blank',
    title: 'Conflict',
    status: 409,
    detail: 'Taken: </script>.',
    code: 'name_taken',
    message: 'Taken: </script>.',
    name: 'x',
  });
});

test('a problem may have its own type and title', async (t) => {
  const own = { type: 'https://host.example/problems/term-over', title: 'The term is over' };
  const { body } = await answerOf(t, (ctx) => {
    sendProblem(ctx, { ...own, status: 409, code: 'term_over', detail: 'Choose the next one.' });
  });
  t.is(body['type'], own.type);
  t.is(body['title'], own.title);
});

test('an error of this package with a 4xx status is a problem with its message', async (t) => {
  const errors: [GatehouseError, number, string][] = [
    [new BodyError('The body is not JSON.'), 400, 'body_invalid'],
    [new BodyError('The body is too large.', { status: 413 }), 413, 'body_invalid'],
    [new InteractionExpiredError(), 400, 'interaction_expired'],
    [new GatehouseError('ERR_CROSS_SITE', 'Not from here.', { status: 403 }), 403, 'cross_site'],
    [
      new GatehouseError('ERR_CLIENT_NOT_FOUND', 'There is no such app.', { status: 404 }),
      404,
      'client_not_found',
    ],
  ];
  for (const [error, expected, code] of errors) {
    const { status, body, log } = await answerOf(t, thrower(error));
    t.is(status, expected);
    t.is(body['code'], code);
    t.is(body['message'], error.message);
    t.deepEqual(log, []);
  }
});

test('an invalid client is a problem that lists the fields', async (t) => {
  const fields = [{ field: 'redirectUris[0]', code: 'uri_scheme', message: 'use https' } as const];
  const { status, body } = await answerOf(t, thrower(new ClientInvalidError(fields)));
  t.is(status, 422);
  t.is(body['code'], 'client_invalid');
  t.deepEqual(body['errors'], fields);
});

test('a StorageError is 503 with Retry-After, without its message', async (t) => {
  for (const error of [
    new StorageError('10.0.0.7 refused'),
    new MigrationsPendingError(['0002-inner-name']),
  ]) {
    const { status, body, headers, log } = await answerOf(t, thrower(error));
    t.is(status, 503);
    t.is(headers.get('retry-after'), '5');
    t.is(body['code'], 'temporarily_unavailable');
    t.notRegex(JSON.stringify(body), /10\.0\.0\.7|inner/);
    t.is(log[0]?.fields['err'], error);
    t.is(log[0]?.fields['request_id'], body['reference']);
  }
});

test('ctx.throw() keeps its status, and its message if it is exposed', async (t) => {
  const exposed = await answerOf(t, (ctx) => ctx.throw(409, 'This name is taken.'));
  t.is(exposed.status, 409);
  t.is(exposed.body['code'], 'conflict');
  t.is(exposed.body['message'], 'This name is taken.');
  const coded = await answerOf(t, (ctx) =>
    ctx.throw(409, 'This name is taken.', { code: 'name_taken', headers: { 'X-Name': 'taken' } }),
  );
  t.is(coded.body['code'], 'name_taken');
  t.is(coded.headers.get('x-name'), 'taken');
  const hidden = await answerOf(t, (ctx) => ctx.throw(422, 'inner text', { expose: false, code: 'inner' }));
  t.is(hidden.status, 422);
  t.is(hidden.body['code'], 'unprocessable_entity');
  t.is(hidden.body['message'], 'Unprocessable Entity.');
  const failed = await answerOf(t, (ctx) => ctx.throw(502, 'inner text'));
  t.is(failed.status, 502);
  t.is(failed.body['message'], 'Bad Gateway.');
  t.is(failed.log.length, 1);
  const busy = await answerOf(t, (ctx) => ctx.throw(503, { headers: { 'Retry-After': '60' } }));
  t.is(busy.headers.get('retry-after'), '60');
});

test('any other error is 500: its message is only in the log, under the reference of the problem', async (t) => {
  const upstream = Object.assign(new Error('inner text'), { status: 401 });
  for (const error of [
    new TypeError('inner text'),
    upstream,
    new GatehouseError('ERR_CONFIG', 'inner text'),
    'inner text',
    null,
  ]) {
    const { status, body, log } = await answerOf(t, thrower(error));
    t.is(status, 500);
    t.is(body['code'], 'internal_error');
    t.is(body['message'], 'Something went wrong on the server. Give the reference when you report it.');
    t.false(JSON.stringify(body).includes('inner text'));
    t.is(log.length, 1);
    t.is(log[0]?.fields['err'], error);
    t.is(log[0]?.fields['request_id'], body['reference']);
    t.is(log[0]?.fields['path'], '/path', 'without the query');
    t.regex(String(body['reference']), /^[0-9a-f-]{36}$/);
  }
});

test("a parser's SyntaxError is 400, without the text of the body", async (t) => {
  const error = Object.assign(new SyntaxError('Unexpected token < in <html>'), {
    status: 400,
    body: '<html>',
  });
  const { status, body } = await answerOf(t, thrower(error));
  t.is(status, 400);
  t.is(body['code'], 'body_invalid');
  t.is(body['message'], 'The body is not valid JSON.');
});

test('headers and body set by the handler are removed, headers set before the API router are kept', async (t) => {
  const { status, headers, body } = await answerOf(t, (ctx) => {
    ctx.set({
      ETag: '"1"',
      'Content-Encoding': 'br',
      'Content-Disposition': 'attachment',
      'X-Request-Id': '7',
    });
    ctx.body = Readable.from(['half']);
    ctx.throw(409, 'No.');
  });
  t.is(status, 409);
  t.is(body['message'], 'No.');
  t.is(headers.get('x-request-id'), '7');
  for (const name of ['etag', 'content-encoding', 'content-disposition']) t.is(headers.get(name), null, name);
});

test('a response that has begun is left to Koa', async (t) => {
  const { logger, log } = createPlatform();
  const errors: unknown[] = [];
  const app = new Koa();
  app.on('error', (error) => errors.push(error));
  app.use(problems({ logger }));
  app.use((ctx) => {
    ctx.res.end('begun');
    throw new Error('failed after the header');
  });
  const response = await fetch(await serve(t, app));
  t.is(await response.text(), 'begun');
  t.is(errors.length, 1);
  t.deepEqual(log, []);
});
