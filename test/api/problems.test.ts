import { Readable } from 'node:stream';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Context, Middleware } from 'koa';

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
import { koaApp, serveApp } from '../harness/serve.ts';
import { request } from '../harness/requests.ts';
import type { ApiAnswer } from '../harness/requests.ts';

/** The answer to a request, and the log. The handler is what is given, or throws it. */
async function answerOf(
  t: ExecutionContext,
  given: Middleware | Error | string | null,
): Promise<ApiAnswer & { log: Platform['log'] }> {
  const { logger, log } = createPlatform();
  const origin = await serveApp(t, problems({ logger }), (ctx, next) => {
    if (typeof given === 'function') return given(ctx, next);
    throw given;
  });
  return { ...(await request(`${origin}/path?code=secret`)), log };
}

test('a problem has type, title, status, detail, code, message and extension members', async (t) => {
  const { status, type, body, headers } = await answerOf(t, (ctx) => {
    const detail = 'Taken: </script>.';
    sendProblem(ctx, { status: 409, code: 'name_taken', detail, members: { name: 'x' } });
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

const fields = [{ field: 'redirectUris[0]', code: 'uri_scheme', message: 'use https' } as const];
const taken = 'This name is taken.';

test('an error below 500 is a problem with its message, code and header fields, unless the message is hidden', async (t) => {
  const coded = { code: 'name_taken', headers: { 'X-Name': 'taken' } };
  const ofParser = Object.assign(new SyntaxError('Unexpected <html>'), { status: 400, body: '<html>' });
  for (const [error, status, code, message, header] of [
    [new BodyError('The body is too large.', { status: 413 }), 413, 'body_invalid', 'The body is too large.'],
    [new InteractionExpiredError(), 400, 'interaction_expired', new InteractionExpiredError().message],
    [new GatehouseError('ERR_CROSS_SITE', 'Not here.', { status: 403 }), 403, 'cross_site', 'Not here.'],
    [new ClientInvalidError(fields), 422, 'client_invalid', new ClientInvalidError(fields).message],
    [(ctx: Context) => ctx.throw(409, taken), 409, 'conflict', taken],
    [(ctx: Context) => ctx.throw(409, taken, coded), 409, 'name_taken', taken, ['x-name', 'taken']],
    [
      (ctx: Context) => ctx.throw(422, 'x', { expose: false, code: 'x' }),
      422,
      'unprocessable_entity',
      'Unprocessable Entity.',
    ],
    [ofParser, 400, 'body_invalid', 'The body is not valid JSON.'],
  ] as const) {
    const { body, headers, log, ...answer } = await answerOf(t, error);
    t.is(answer.status, status);
    t.like(body, { code, message });
    if (header) t.is(headers.get(header[0]), header[1]);
    if (error instanceof ClientInvalidError) t.deepEqual(body['errors'], fields);
    t.deepEqual(log, []);
  }
});

test('any other error is 500 or 503: its message is only in the log, under the reference of the problem', async (t) => {
  const internal = [
    'internal_error',
    'Something went wrong on the server. Give the reference when you report it.',
  ];
  const unavailable = [
    'temporarily_unavailable',
    'The server cannot answer right now. Try again in a few seconds.',
    '5',
  ];
  for (const [error, status, [code, message, retryAfter = null]] of [
    [new TypeError('inner text'), 500, internal],
    [Object.assign(new Error('inner text'), { status: 401 }), 500, internal],
    [new GatehouseError('ERR_CONFIG', 'inner text'), 500, internal],
    ['inner text', 500, internal],
    [null, 500, internal],
    [new StorageError('inner text'), 503, unavailable],
    [new MigrationsPendingError(['0002-inner-text']), 503, unavailable],
    [(ctx: Context) => ctx.throw(502, 'inner text'), 502, ['bad_gateway', 'Bad Gateway.']],
    [
      (ctx: Context) => ctx.throw(503, { headers: { 'Retry-After': '60' } }),
      503,
      [...unavailable.slice(0, 2), '60'],
    ],
  ] as const) {
    const { body, headers, log, ...answer } = await answerOf(t, error);
    t.is(answer.status, status);
    t.like(body, { code, message });
    t.is(headers.get('retry-after'), retryAfter);
    t.notRegex(answer.text, /inner.text/);
    t.is(log.length, 1);
    if (typeof error !== 'function') t.is(log[0]?.fields['err'], error);
    t.like(log[0]?.fields, { request_id: body['reference'], path: '/path' }, 'without the query');
    t.regex(String(body['reference']), /^[0-9a-f-]{36}$/);
  }
});

test('headers and body set by the handler are removed, headers set before the API router are kept', async (t) => {
  const { status, headers, body } = await answerOf(t, (ctx) => {
    ctx.set({ ETag: '"1"', 'Content-Encoding': 'br', 'Content-Disposition': 'attachment' });
    ctx.set('X-Request-Id', '7');
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
  const app = koaApp(problems({ logger }), (ctx) => {
    ctx.res.end('begun');
    throw new Error('failed after the header');
  });
  app.on('error', (error) => errors.push(error));
  const response = await fetch(await serveApp(t, app));
  t.is(await response.text(), 'begun');
  t.is(errors.length, 1);
  t.deepEqual(log, []);
});
