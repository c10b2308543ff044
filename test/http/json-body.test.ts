import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

import { bodyParser } from '@koa/bodyparser';
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';

import { BodyError } from '../../lib/errors.ts';
import { readJson } from '../../lib/http/body.ts';
import { serveApp } from '../harness/serve.ts';

const FORM = 'application/x-www-form-urlencoded';
const TOO_LARGE = { status: 413, message: 'The body is larger than 1000 bytes.' };
const JSON_TYPE = { 'content-type': 'application/json' };

async function answerJson(ctx: Context): Promise<void> {
  try {
    const value = await readJson(ctx, 1000);
    ctx.body = { value: value === undefined ? 'nothing' : value };
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    ctx.status = error.status;
    ctx.body = { message: error.message };
  }
}

async function post(
  url: string,
  body?: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = JSON_TYPE,
): Promise<object> {
  const response = await fetch(url, { method: 'POST', headers, ...(body !== undefined && { body }) });
  return { status: response.status, ...((await response.json()) as object) };
}

test('any JSON value is read', async (t) => {
  const url = await serveApp(t, answerJson);
  const texts = { a: [1, { b: 'ü' }], ':': '":"' };
  for (const value of [texts, [], 'text', 7, true, null, { a: String.raw`\":` }]) {
    t.deepEqual(await post(url, JSON.stringify(value)), { status: 200, value });
  }
  t.deepEqual(await post(url, '\u{FEFF}{}', { 'content-type': 'Application/JSON; charset=utf-8' }), {
    status: 200,
    value: {},
  });
});

test('without a body the value is undefined, with and without a content type', async (t) => {
  const url = await serveApp(t, answerJson);
  t.deepEqual(await post(url, undefined, {}), { status: 200, value: 'nothing' });
  t.deepEqual(await post(url, ''), { status: 200, value: 'nothing' });
});

test('__proto__ is an ordinary member', async (t) => {
  const url = await serveApp(t, async (ctx) => {
    const value = (await readJson(ctx, 1000)) as object;
    ctx.body = { own: Object.keys(value), polluted: 'x' in value };
  });
  t.deepEqual(await post(url, '{"__proto__":{"x":1}}'), { status: 200, own: ['__proto__'], polluted: false });
});

test('what is not I-JSON, too large, compressed or of another type is refused', async (t) => {
  const url = await serveApp(t, answerJson);
  const duplicate = 'An object of the body contains a duplicate member.';
  for (const [body, message] of [
    ['{', 'The body is not valid JSON.'],
    ['{"a":1,"b":{"c":1,"c":2}}', duplicate],
    [String.raw`{"a":1,"\u0061":2}`, duplicate],
    [String.raw`["a\u0000"]`, 'The body contains a NUL character.'],
    [String.raw`{"a\u0000":1}`, 'The body contains a NUL character.'],
    [String.raw`["\ud800"]`, 'The body contains a lone surrogate.'],
    ['[1e999]', 'The body contains a number that is too large.'],
    ['['.repeat(33) + ']'.repeat(33), 'The body is more than 32 levels deep.'],
    [new Uint8Array([0x22, 0xff, 0x22]), 'The body is not UTF-8.'],
  ] as const)
    t.deepEqual(await post(url, body), { status: 400, message });
  for (const type of [FORM, 'application/merge-patch+json', 'text/plain']) {
    const answer = await post(url, '{}', { 'content-type': type });
    t.deepEqual(answer, { status: 415, message: 'Send the body as application/json.' }, type);
  }
  const compressed = await post(url, gzipSync('{}'), { ...JSON_TYPE, 'content-encoding': 'gzip' });
  t.deepEqual(compressed, { status: 415, message: 'The body must not be compressed.' });
  t.deepEqual(await post(url, `"${'x'.repeat(999)}"`), TOO_LARGE);
});

test('32 levels, and a body of exactly the limit, are accepted', async (t) => {
  const url = await serveApp(t, answerJson);
  t.like(await post(url, '['.repeat(32) + ']'.repeat(32)), { status: 200 });
  t.like(await post(url, `"${'x'.repeat(998)}"`), { status: 200 });
});

const parsers: Record<string, () => Middleware> = {
  'koa-body': () => koaBody({ jsonStrict: false }),
  'koa-body with the raw text': () => koaBody({ includeUnparsed: true }),
  '@koa/bodyparser': () => bodyParser(),
  '@koa/bodyparser for forms only': () => bodyParser({ enableTypes: ['form'] }),
  'a parser that leaves the text': () =>
    koaBody({ json: false, text: true, textTypes: ['application/json'] }),
};

for (const [name, parser] of Object.entries(parsers)) {
  test(`JSON is read behind ${name} of the host`, async (t) => {
    const url = await serveApp(t, parser(), answerJson);
    t.deepEqual(await post(url, '{"a":["ü"]}'), { status: 200, value: { a: ['ü'] } });
    t.deepEqual(await post(url, undefined, {}), { status: 200, value: 'nothing' });
    t.deepEqual(await post(url, String.raw`["\u0000"]`), {
      status: 400,
      message: 'The body contains a NUL character.',
    });
    t.deepEqual(await post(url, `{"a":"${'x'.repeat(993)}"}`), TOO_LARGE);
    t.like(await post(url, 'a=b', { 'content-type': FORM }), { status: 415 });
  });
}

/** Serves what a parser has left of a body. */
async function serveBehind(t: ExecutionContext, leave: (ctx: Context) => void): Promise<string> {
  const parse: Middleware = async (ctx, next) => {
    await text(ctx.req);
    leave(ctx);
    await next();
  };
  return serveApp(t, parse, answerJson);
}

test("a body that a parser has set on Node's request is read, its text before its value", async (t) => {
  for (const left of [{ body: { a: 1 } }, { body: '{"a":1}' }, { body: {}, rawBody: '{"a":1}' }]) {
    const url = await serveBehind(t, ({ req }) => Object.assign(req, left));
    t.deepEqual(await post(url, '{"a":1}'), { status: 200, value: { a: 1 } });
  }
});

test('duplicate members and the size are checked in the text that a parser has set', async (t) => {
  for (const [rawBody, status, message] of [
    ['{"a":1,"a":2}', 400, 'An object of the body contains a duplicate member.'],
    [`"${'ü'.repeat(500)}"`, 413, 'The body is larger than 1000 bytes.'],
  ] as const) {
    const url = await serveBehind(t, (ctx) =>
      Object.assign(ctx.request, { body: JSON.parse(rawBody), rawBody }),
    );
    t.deepEqual(await post(url, '{}'), { status, message });
  }
});

test('a body consumed by other middleware is refused at once', async (t) => {
  t.deepEqual(await post(await serveBehind(t, () => {}), '{}'), {
    status: 400,
    message: 'The body was already read by another middleware, which did not set ctx.request.body.',
  });
});
