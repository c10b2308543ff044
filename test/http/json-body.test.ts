import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { gzipSync } from 'node:zlib';

import { bodyParser } from '@koa/bodyparser';
import test from 'ava';
import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';

import { BodyError } from '../../lib/errors.ts';
import { readJson } from '../../lib/http/body.ts';
import { serve } from '../interactions/serve.ts';

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
  const url = await serve(t, answerJson);
  for (const value of [
    { a: [1, { b: 'ü' }], ':': '":"' },
    [],
    'text',
    7,
    true,
    null,
    { a: String.raw`\":` },
  ]) {
    t.deepEqual(await post(url, JSON.stringify(value)), { status: 200, value });
  }
  t.deepEqual(await post(url, '\u{FEFF}{}', { 'content-type': 'Application/JSON; charset=utf-8' }), {
    status: 200,
    value: {},
  });
});

test('without a body the value is undefined, with and without a content type', async (t) => {
  const url = await serve(t, answerJson);
  t.deepEqual(await post(url, undefined, {}), { status: 200, value: 'nothing' });
  t.deepEqual(await post(url, ''), { status: 200, value: 'nothing' });
});

test('__proto__ is an ordinary member', async (t) => {
  const url = await serve(t, async (ctx) => {
    const value = (await readJson(ctx, 1000)) as object;
    ctx.body = { own: Object.keys(value), polluted: 'x' in value };
  });
  t.deepEqual(await post(url, '{"__proto__":{"x":1}}'), { status: 200, own: ['__proto__'], polluted: false });
});

const refused: [
  what: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string>,
  status: number,
  message: string,
][] = [
  ['text that is not JSON', '{', JSON_TYPE, 400, 'The body is not valid JSON.'],
  [
    'a duplicate member',
    '{"a":1,"b":{"c":1,"c":2}}',
    JSON_TYPE,
    400,
    'An object of the body contains a duplicate member.',
  ],
  [
    'a duplicate member, in two spellings',
    String.raw`{"a":1,"\u0061":2}`,
    JSON_TYPE,
    400,
    'An object of the body contains a duplicate member.',
  ],
  ['a NUL', String.raw`["a\u0000"]`, JSON_TYPE, 400, 'The body contains a NUL character.'],
  ['a NUL in a name', String.raw`{"a\u0000":1}`, JSON_TYPE, 400, 'The body contains a NUL character.'],
  ['a lone surrogate', String.raw`["\ud800"]`, JSON_TYPE, 400, 'The body contains a lone surrogate.'],
  ['a number without end', '[1e999]', JSON_TYPE, 400, 'The body contains a number that is too large.'],
  ['33 levels', '['.repeat(33) + ']'.repeat(33), JSON_TYPE, 400, 'The body is more than 32 levels deep.'],
  ['bytes that are not UTF-8', new Uint8Array([0x22, 0xff, 0x22]), JSON_TYPE, 400, 'The body is not UTF-8.'],
  [
    'a form',
    'a=b',
    { 'content-type': 'application/x-www-form-urlencoded' },
    415,
    'Send the body as application/json.',
  ],
  [
    'another JSON type',
    '{}',
    { 'content-type': 'application/merge-patch+json' },
    415,
    'Send the body as application/json.',
  ],
  ['plain text', '{}', { 'content-type': 'text/plain' }, 415, 'Send the body as application/json.'],
  [
    'gzip',
    new Uint8Array(gzipSync('{}')),
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    415,
    'The body must not be compressed.',
  ],
  ['more than the limit', `"${'x'.repeat(999)}"`, JSON_TYPE, 413, 'The body is larger than 1000 bytes.'],
];

for (const [what, body, headers, status, message] of refused) {
  test(`refused: ${what}`, async (t) => {
    const url = await serve(t, answerJson);
    t.deepEqual(await post(url, body, headers), { status, message });
  });
}

test('32 levels, and a body of exactly the limit, are accepted', async (t) => {
  const url = await serve(t, answerJson);
  t.like(await post(url, '['.repeat(32) + ']'.repeat(32)), { status: 200 });
  t.like(await post(url, `"${'x'.repeat(998)}"`), { status: 200 });
});

test('an endless body is answered, and its connection closed', async (t) => {
  const url = await serve(t, answerJson);
  const agent = new Agent({ keepAlive: true });
  t.teardown(() => {
    agent.destroy();
  });
  const endless = request(url, { method: 'POST', agent, headers: JSON_TYPE });
  endless.on('error', () => {});
  endless.write(`["${'x'.repeat(2000)}`);
  const [response] = (await once(endless, 'response')) as [IncomingMessage];
  t.is(response.statusCode, 413);
  t.is(response.headers.connection, 'close');
  t.deepEqual(JSON.parse(await text(response)), { message: 'The body is larger than 1000 bytes.' });
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
  test(`works behind ${name} of the host`, async (t) => {
    const url = await serve(t, parser(), answerJson);
    t.deepEqual(await post(url, '{"a":["ü"]}'), { status: 200, value: { a: ['ü'] } });
    t.deepEqual(await post(url, undefined, {}), { status: 200, value: 'nothing' });
    t.deepEqual(await post(url, String.raw`["\u0000"]`), {
      status: 400,
      message: 'The body contains a NUL character.',
    });
    t.deepEqual(await post(url, `{"a":"${'x'.repeat(993)}"}`), {
      status: 413,
      message: 'The body is larger than 1000 bytes.',
    });
    t.like(await post(url, 'a=b', { 'content-type': 'application/x-www-form-urlencoded' }), { status: 415 });
  });
}

test("a body that a parser has set on Node's request is read, its text before its value", async (t) => {
  for (const left of [{ body: { a: 1 } }, { body: '{"a":1}' }, { body: {}, rawBody: '{"a":1}' }]) {
    const url = await serve(
      t,
      async (ctx, next) => {
        await text(ctx.req);
        Object.assign(ctx.req, left);
        await next();
      },
      answerJson,
    );
    t.deepEqual(await post(url, '{"a":1}'), { status: 200, value: { a: 1 } });
  }
});

test('duplicate members and the size are checked in the text that a parser has set', async (t) => {
  const cases = [
    ['{"a":1,"a":2}', 400, 'An object of the body contains a duplicate member.'],
    [`"${'ü'.repeat(500)}"`, 413, 'The body is larger than 1000 bytes.'],
  ] as const;
  for (const [rawBody, status, message] of cases) {
    const url = await serve(
      t,
      async (ctx, next) => {
        await text(ctx.req);
        Object.assign(ctx.request, { body: JSON.parse(rawBody), rawBody });
        await next();
      },
      answerJson,
    );
    t.deepEqual(await post(url, '{}'), { status, message });
  }
});

test('a body consumed by other middleware is refused at once', async (t) => {
  const url = await serve(
    t,
    async (ctx, next) => {
      await text(ctx.req);
      await next();
    },
    answerJson,
  );
  t.deepEqual(await post(url, '{}'), {
    status: 400,
    message: 'The body was already read by another middleware, which did not set ctx.request.body.',
  });
});
