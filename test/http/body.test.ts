import { createServer } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setImmediate } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { bodyParser } from '@koa/bodyparser';
import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Context, Middleware } from 'koa';
import { koaBody } from 'koa-body';
import { BodyError } from '../../lib/errors.ts';
import { readForm } from '../../lib/http/form.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { endWith, koaApp, listenerOf, listenOn, serveApp } from '../harness/serve.ts';

const FORM = 'application/x-www-form-urlencoded';

async function answerForm(ctx: Context): Promise<void> {
  try {
    ctx.body = { fields: await readForm(ctx) };
  } catch (error) {
    if (!(error instanceof BodyError)) throw error;
    ctx.status = error.status;
    ctx.body = { code: error.code, message: error.message };
  }
}

async function post(
  url: string,
  body: string | Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<object> {
  const response = await fetch(url, { method: 'POST', body, headers: { 'content-type': FORM, ...headers } });
  return { status: response.status, ...((await response.json()) as object) };
}

function refused(status: number, message: string): object {
  return { status, code: 'ERR_BODY', message };
}
const REPEATED = refused(400, 'A field of the form is repeated, is nested or has an invalid name.');
const TOO_LARGE = refused(413, 'The form is larger than 16384 bytes.');

test('form fields are percent-decoded, and whitespace is kept', async (t) => {
  const url = await serveApp(t, answerForm);
  t.deepEqual(await post(url, 'login=ann%2Bwork%40school.example&password=+%C3%A4%3D1%262=3+&empty=&bare'), {
    status: 200,
    fields: { login: 'ann+work@school.example', password: ' ä=1&2=3 ', empty: '', bare: '' },
  });
  t.deepEqual(await post(url, ''), { status: 200, fields: {} });
  t.deepEqual(await post(url, 'login=zoë', { 'content-type': `${FORM.toUpperCase()}; charset=UTF-8` }), {
    status: 200,
    fields: { login: 'zoë' },
  });
});

test('a second reader in the same request gets the same fields', async (t) => {
  const url = await serveApp(
    t,
    async (ctx, next) => {
      await readForm(ctx);
      await next();
    },
    answerForm,
  );
  t.deepEqual(await post(url, 'login=%C3%A4nn'), { status: 200, fields: { login: 'änn' } });
});

test('a repeated, nested or invalid field is refused', async (t) => {
  const url = await serveApp(t, answerForm);
  for (const form of ['login=a&login=b', 'login[]=a', 'login[email]=a', 'login.email=a', '=a'])
    t.deepEqual(await post(url, form), REPEATED);
});

test('names of Object.prototype are ordinary fields', async (t) => {
  const url = await serveApp(t, async (ctx) => {
    const fields = await readForm(ctx);
    ctx.body = { own: Object.keys(fields), toString: typeof fields['toString'] };
  });
  t.deepEqual(await post(url, '__proto__=a&constructor=b'), {
    status: 200,
    own: ['__proto__', 'constructor'],
    toString: 'undefined',
  });
});

test('a form that is not UTF-8, or contains a NUL character, is refused', async (t) => {
  const url = await serveApp(t, answerForm);
  for (const value of ['%FF', '%', '%ED%A0%80'])
    t.deepEqual(await post(url, `login=${value}`), refused(400, 'The form is not percent-encoded UTF-8.'));
  const bytes = new Uint8Array([0x61, 0x3d, 0xff]);
  t.deepEqual(await post(url, bytes), refused(400, 'The form is not UTF-8.'));
  t.deepEqual(await post(url, 'login=a%00b'), refused(400, 'A field of the form contains a NUL character.'));
});

test('another content type, or a compressed form, is refused with 415', async (t) => {
  const url = await serveApp(t, answerForm);
  for (const type of ['application/json', 'text/plain', 'nonsense', 'multipart/form-data; boundary=x']) {
    const answer = await post(url, 'login=a', { 'content-type': type });
    t.deepEqual(answer, refused(415, `Send the form as ${FORM}.`), type);
  }
  const compressed = await post(url, gzipSync('login=a'), { 'content-encoding': 'gzip' });
  t.deepEqual(compressed, refused(415, 'The form must not be compressed.'));
});

test('a form of more than 16 KiB is refused with 413', async (t) => {
  const url = await serveApp(t, answerForm);
  const a = 'x'.repeat(16 * 1024 - 2);
  t.deepEqual(await post(url, `a=${a}`), { status: 200, fields: { a } });
  t.deepEqual(await post(url, `a=${a}x`), TOO_LARGE);
});

const parsers: Record<string, () => Middleware> = {
  'koa-body': () => koaBody(),
  '@koa/bodyparser': () => bodyParser(),
  'a parser that sets the text': () => koaBody({ urlencoded: false, text: true, textTypes: [FORM] }),
};

for (const [name, parser] of Object.entries(parsers)) {
  test(`works behind ${name} of the host`, async (t: ExecutionContext) => {
    const url = await serveApp(t, parser(), answerForm);
    t.deepEqual(await post(url, 'login=ann&password=+%C3%A4+'), {
      status: 200,
      fields: { login: 'ann', password: ' ä ' },
    });
    t.deepEqual(await post(url, ''), { status: 200, fields: {} });
    t.deepEqual(await post(url, 'login=a&login=b'), REPEATED);
    t.deepEqual(await post(url, 'login[email]=a'), REPEATED);
    t.deepEqual(await post(url, `a=${'x'.repeat(20_000)}`), TOO_LARGE);
    const json = await post(url, '{"login":"ann"}', { 'content-type': 'application/json' });
    t.like(json, { status: 415 });
  });
}

test('a form that middleware has consumed, or decodes to text, is refused at once', async (t) => {
  for (const [read, message] of [
    [text, 'The form was already read by another middleware, which did not set ctx.request.body.'],
    [async (req: IncomingMessage) => req.setEncoding('utf8'), 'The form could not be read.'],
  ] as const) {
    const before: Middleware = async ({ req }, next) => {
      await read(req);
      await next();
    };
    t.deepEqual(await post(await serveApp(t, before, answerForm), 'login=ann'), refused(400, message));
  }
});

test('a form in two parts, which middleware of the host reads too, is whole for both', async (t) => {
  const [first, second] = ['login=ann&', 'password=secret'];
  const hasBegun = Promise.withResolvers<void>();
  let counted = 0;
  const url = await serveApp(
    t,
    async ({ req }, next) => {
      hasBegun.resolve();
      while (req.readableLength < first.length + second.length) await setImmediate();
      req.on('data', (chunk: Buffer) => {
        counted += chunk.length;
      });
      await next();
    },
    answerForm,
  );
  const connection = await RawConnection.open(url);
  t.teardown(() => connection.close());
  const length = first.length + second.length;
  connection.post('/', first, { 'Content-Type': FORM, 'Content-Length': String(length) });
  await hasBegun.promise;
  connection.write(second);
  const { body, status } = await connection.answer();
  t.deepEqual([status, JSON.parse(body)], [200, { fields: { login: 'ann', password: 'secret' } }]);
  t.is(counted, length);
});

test('a form with two lengths is not cut at the shorter one', async (t) => {
  const hasArrived = Promise.withResolvers<void>();
  const app = koaApp(async (ctx) => {
    while (ctx.req.readableLength < 'login=ann'.length) await setImmediate();
    hasArrived.resolve();
    await answerForm(ctx);
  });
  const server = createServer({ insecureHTTPParser: true }, listenerOf(app));
  const { port } = endWith(t, await listenOn(server));
  const connection = await RawConnection.open(`http://127.0.0.1:${port}`);
  t.teardown(() => connection.close());
  const headers = { 'Content-Type': FORM, 'Content-Length': '9', 'Transfer-Encoding': 'chunked' };
  connection.post('/', '9\r\nlogin=ann\r\n', headers);
  await hasArrived.promise;
  connection.write('6\r\n&b=123\r\n0\r\n\r\n');
  t.is((await connection.answer()).status, 400);
});
