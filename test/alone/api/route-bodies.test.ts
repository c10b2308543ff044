import { mkdtempSync } from 'node:fs';
import { readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import fc from 'fast-check';
import type { Middleware } from 'koa';
import { koaBody } from 'koa-body';
import { Router } from 'koa-router';

import { createApiRouter } from '../../../lib/api/router.ts';
import type { ApiRouterOptions } from '../../../lib/api/router.ts';
import type { UploadedFile } from '../../../lib/api/route-bodies.ts';
import { ConfigError } from '../../../lib/errors.ts';
import { createPlatform } from '../../access/platform.ts';
import type { Permission, Person } from '../../access/platform.ts';
import { request } from '../../harness/requests.ts';
import type { ApiAnswer } from '../../harness/requests.ts';
import { like } from '../../harness/like.ts';
import { SEED } from '../../harness/seed.ts';
import { authOf, serveApi } from '../../api/api.ts';
import { schoolActions } from '../../api/school-actions.ts';

process.env['TMPDIR'] = mkdtempSync(join(tmpdir(), 'route-bodies-'));
test.after.always(async () => rm(tmpdir(), { recursive: true }));

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM = { 'content-type': 'application/x-www-form-urlencoded' };
const MULTIPART = { 'content-type': 'multipart/form-data; boundary=x' };

type Send = (init: RequestInit, path?: string) => Promise<ApiAnswer>;

interface Host {
  readonly send: Send;
  readonly origin: string;
  readonly token: string;
  readonly log: readonly unknown[];
  readonly errors: readonly unknown[];
}

/** An API with a route that responds with the body and files it got. */
async function startHost(
  t: ExecutionContext,
  options: Omit<ApiRouterOptions<Permission, Person>, 'auth'> = {},
  front: readonly Middleware[] = [],
): Promise<Host> {
  const { call, errors, origin, platform } = await serveApi(t, {
    ...options,
    before: front,
    extend(api) {
      api.all('/echo', async (ctx) => {
        const { body, files = {}, rawBody } = ctx.request;
        const found = await Promise.all(
          Object.entries(files).map(async ([name, given]) => [
            name,
            await Promise.all([given].flat().map(async (one) => describe(one))),
          ]),
        );
        ctx.body = { body, rawBody, files: Object.fromEntries(found), unread: !ctx.req.readableDidRead };
      });
      api.use(
        '/nested',
        new Router().post('/echo', (ctx) => (ctx.body = { body: ctx.request.body })).routes(),
      );
      api.post('/broken', () => {
        throw new TypeError('an error of the host');
      });
    },
  });
  const token = await platform.userToken();
  const send: Send = async (init, path = '/echo') => call(path, token, { method: 'POST', ...init });
  return { send, origin, token, log: platform.log, errors };
}

async function describe({ filepath, mimetype, originalFilename, size }: UploadedFile): Promise<object> {
  return { mimetype, originalFilename, size, text: (await readFile(filepath, 'utf8')).slice(0, 20) };
}

function json(body: string): RequestInit {
  return { body, headers: JSON_TYPE };
}

/** A multipart body of literal parts. */
function multipart(...parts: readonly string[]): RequestInit {
  return {
    body: `${parts.map((part) => `--x\r\n${part}\r\n`).join('')}--x--\r\n`,
    headers: MULTIPART,
  };
}

function field(name: string, value: string, more = ''): string {
  return `Content-Disposition: form-data; name="${name}"${more}\r\n\r\n${value}`;
}

function file(name: string, value: string, more = ''): string {
  return `Content-Disposition: form-data; name="${name}"; filename="${name}.txt"\r\nContent-Type: text/plain${more}\r\n\r\n${value}`;
}

/** Waits until all uploaded files are removed. */
async function filesAreRemoved(t: ExecutionContext): Promise<void> {
  for (let tries = 0; tries < 1000; tries += 1) {
    if ((await readdir(tmpdir())).length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  t.deepEqual(await readdir(tmpdir()), []);
}

test.serial(
  'a JSON body or the fields of a form are ctx.request.body, and the text ctx.request.rawBody',
  async (t) => {
    const { send } = await startHost(t);
    for (const [body, type, method] of [
      ['{"name":"Hill","grades":[1,2]}', 'application/json', 'POST'],
      ['[{"op":"remove"}]', 'application/json-patch+json; charset=utf-8', 'PATCH'],
      ['7', 'application/json', 'PUT'],
    ] as const) {
      const answer = await send({ method, body, headers: { 'content-type': type } });
      t.is(answer.status, 200, body);
      t.like(answer.body, { body: JSON.parse(body), rawBody: body });
    }
    t.deepEqual((await send(json('[1]'), '/nested/echo')).body, { body: [1] }, 'in a nested router too');
    const rawBody = 'a=%C3%A4+b&tag=1&tag=2&x.y=3&of[name]=4';
    const { body } = await send({ body: rawBody, headers: FORM });
    like(t, body, { body: { a: 'ä b', tag: ['1', '2'], 'x.y': '3', of: { name: '4' } }, rawBody });
  },
);

test.serial('a multipart body: the fields and files, which are removed after the response', async (t) => {
  const { send } = await startHost(t);
  const large = 'L'.repeat(3_000_000);
  const form = new FormData();
  form.set('title', 'Plän');
  form.set('plan', new Blob([large], { type: 'text/plain' }), 'plan.txt');
  form.append('photo', new Blob(['one']), '../../etc/passwd');
  form.append('photo', new Blob(['two']), 'two.png');
  const { body, status } = await send({ body: form });
  t.is(status, 200);
  t.deepEqual(body['body'], { title: 'Plän' });
  t.deepEqual(body['files'], {
    plan: [{ mimetype: 'text/plain', originalFilename: 'plan.txt', size: 3_000_000, text: 'L'.repeat(20) }],
    photo: [
      { mimetype: 'application/octet-stream', originalFilename: '../../etc/passwd', size: 3, text: 'one' },
      { mimetype: 'application/octet-stream', originalFilename: 'two.png', size: 3, text: 'two' },
    ],
  });
  await filesAreRemoved(t);
});

test.serial(
  'the files of a field are in the order of the form, however long each takes to be written',
  async (t) => {
    const { send } = await startHost(t);
    for (let round = 0; round < 20; round += 1) {
      const form = new FormData();
      const sizes = [70_000, 1, 70_001, 2, 70_002, 3, 4, 5];
      for (const size of sizes) form.append('photo', new Blob(['p'.repeat(size)]), `${size}.png`);
      const { body } = await send({ body: form });
      const { photo } = body['files'] as { photo: readonly { size: number }[] };
      t.deepEqual(
        photo.map(({ size }) => size),
        sizes,
      );
    }
  },
);

test.serial(
  'a part with a filename is a file, one without is a field, and an empty file input is neither',
  async (t) => {
    const { send } = await startHost(t);
    const { body } = await send(
      multipart(
        `Content-Disposition: form-data; name="meta"\r\nContent-Type: application/json\r\n\r\n{}`,
        `Content-Disposition: form-data; name="bare"; filename="bare"\r\n\r\nx`,
        `Content-Disposition: form-data; name="none"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n`,
        file('empty', ''),
      ),
    );
    t.deepEqual(body['body'], { meta: '{}' });
    like(t, body['files'], { bare: [{ text: 'x' }], empty: [{ size: 0 }] });
    t.false('none' in (body['files'] as object));
  },
);

test.serial('a transfer encoding of a part is decoded, and an unknown one is 400', async (t) => {
  const { send } = await startHost(t);
  for (const encoding of ['7bit', '8bit', 'binary', 'base64', 'utf-8']) {
    const sent = encoding === 'base64' ? btoa('some text') : 'some text';
    const more = `\r\nContent-Transfer-Encoding: ${encoding}`;
    const { body, status } = await send(multipart(field('a', sent, more), file('b', sent, more)));
    t.is(status, 200, encoding);
    t.deepEqual(body['body'], { a: 'some text' }, encoding);
    like(t, body['files'], { b: [{ text: 'some text' }] }, encoding);
  }
  const { status } = await send(multipart(field('a', 'x', '\r\nContent-Transfer-Encoding: x')));
  t.is(status, 400);
});

const MALFORMED = 'The body is not valid multipart/form-data.';

const refused: readonly [init: RequestInit, status: number, message: string][] = [
  [json('{"a":'), 400, 'The body is not valid JSON.'],
  [json('{"a":1,"a":2}'), 400, 'An object of the body contains a duplicate member.'],
  [json('{"__proto__":{"a":1}}'), 400, 'The body is not valid JSON.'],
  [{ body: new Uint8Array([0x22, 0xff, 0x22]), headers: JSON_TYPE }, 400, 'The body is not UTF-8.'],
  [json(String.raw`["\u0000"]`), 400, 'The body contains a NUL character.'],
  [json(`"${'x'.repeat(1000)}"`), 413, 'The body is larger than 1000 bytes.'],
  [
    { body: gzipSync('{}'), headers: { ...JSON_TYPE, 'content-encoding': 'gzip' } },
    415,
    'The body must not be compressed.',
  ],
  [{ body: `a=${'x'.repeat(1000)}`, headers: FORM }, 413, 'The body is larger than 1000 bytes.'],
  [{ body: numbered(101).join('&'), headers: FORM }, 413, 'The body has more than 100 fields.'],
  [{ body: 'a&'.repeat(150), headers: FORM }, 413, 'The body has more than 100 fields.'],
  [{ body: '--x\r\nContent-Disp', headers: MULTIPART }, 400, MALFORMED],
  [{ body: `--x\r\n${file('a', 'x')}`, headers: MULTIPART }, 400, MALFORMED],
  [{ body: 'x', headers: { 'content-type': 'multipart/form-data' } }, 400, MALFORMED],
  [multipart('Content-Disposition: form-data\r\n\r\nx'), 400, MALFORMED],
  [multipart(field('__proto__', 'x')), 400, MALFORMED],
  [multipart(file('a', '1'), file('b', '2'), file('c', '3')), 413, 'The body has more than 2 files.'],
  [multipart(...numbered(101).map((name) => field(name, ''))), 413, 'The body has more than 100 fields.'],
  [multipart(field('a', 'x'.repeat(1001))), 413, 'The body has fields of more than 1000 bytes.'],
  [multipart(file('a', 'x'.repeat(20_000))), 413, 'The body is larger than 20000 bytes.'],
];

function numbered(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `a${index}`);
}

test.serial('an invalid body is a problem, and leaves no file', async (t) => {
  const { send, log, errors } = await startHost(t, {
    maxBodyBytes: 1000,
    uploads: { maxBodyBytes: 20_000, maxFiles: 2 },
  });
  for (const [init, status, message] of refused) {
    const answer = await send(init);
    t.is(answer.status, status, message);
    t.is(answer.type, 'application/problem+json; charset=utf-8');
    t.like(answer.body, { code: 'body_invalid', message });
  }
  t.is((await send(json('{"still":"there"}'))).status, 200);
  await filesAreRemoved(t);
  t.deepEqual(log, []);
  t.deepEqual(errors, []);
});

async function* tenThousandBytes(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder();
  yield encoder.encode(`--x\r\n${file('a', '')}`);
  for (let count = 0; count < 10; count += 1) yield encoder.encode('x'.repeat(1000));
  yield encoder.encode('\r\n--x--\r\n');
}

async function* endlessHeader(): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  yield new TextEncoder().encode(`--x\r\nX-Filler: ${'y'.repeat(25_000)}`);
  await new Promise(() => {});
}

function stream(chunks: AsyncIterable<Uint8Array<ArrayBuffer>>): RequestInit & { duplex: 'half' } {
  return { body: ReadableStream.from(chunks), headers: MULTIPART, duplex: 'half' };
}

test.serial('a multipart body of unknown length has the same limit', async (t) => {
  const { send } = await startHost(t, { uploads: { maxBodyBytes: 20_000 } });
  const taken = await send(stream(tenThousandBytes()));
  like(t, taken.body['files'], { a: [{ size: 10_000 }] });
  const large = await send(stream(endlessHeader()));
  t.is(large.status, 413);
  t.is(large.headers.get('connection'), 'close');
  await filesAreRemoved(t);
});

test.serial(
  'files are removed when the handler throws, and a disk that cannot store one is a 500',
  async (t) => {
    const { send, log } = await startHost(t);
    t.is((await send(multipart(file('a', 'x')), '/broken')).status, 500);
    await filesAreRemoved(t);
    async function* whileFolderIsRemoved() {
      const encoder = new TextEncoder();
      yield encoder.encode(`--x\r\n${file('a', 'x')}`);
      while ((await readdir(tmpdir())).length === 0) await new Promise(setImmediate);
      for (const folder of await readdir(tmpdir())) await rm(join(tmpdir(), folder), { recursive: true });
      yield encoder.encode(`\r\n--x\r\n${file('b', 'x')}\r\n--x--\r\n`);
    }
    const { body, status } = await send(stream(whileFolderIsRemoved()));
    t.is(status, 500);
    t.is(body['code'], 'internal_error');
    t.is(log.length, 2);
  },
);

test.serial('files are removed when the caller disconnects', async (t) => {
  const { origin, token, log } = await startHost(t);
  const disconnecting = new AbortController();
  const body = ReadableStream.from(
    (async function* () {
      yield new TextEncoder().encode(`--x\r\n${file('a', 'x'.repeat(100_000))}`);
      while ((await readdir(tmpdir())).length === 0) await new Promise(setImmediate);
      disconnecting.abort();
      await new Promise(() => {});
    })(),
  );
  const headers = { ...MULTIPART, authorization: `Bearer ${token}` };
  const init = { method: 'POST', body, headers, duplex: 'half', signal: disconnecting.signal } as RequestInit;
  await t.throwsAsync(fetch(`${origin}/api/v1/echo`, init), { name: 'AbortError' });
  await filesAreRemoved(t);
  t.deepEqual(log, []);
});

test.serial('a file that cannot be written is a fault of the server', async (t) => {
  const { origin, token, log } = await startHost(t);
  const body = ReadableStream.from(
    (async function* () {
      const encoder = new TextEncoder();
      yield encoder.encode('--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n');
      let folders: string[];
      while ((folders = await readdir(tmpdir())).length === 0) await new Promise(setImmediate);
      await rm(join(tmpdir(), folders[0]!), { recursive: true });
      yield encoder.encode(`--x\r\n${file('b', 'x')}--x--\r\n`);
    })(),
  );
  const headers = { ...MULTIPART, authorization: `Bearer ${token}` };
  const init = { method: 'POST', body, headers, duplex: 'half' } as RequestInit;
  t.like(await request(`${origin}/api/v1/nested/echo`, undefined, init), {
    status: 500,
    body: { code: 'internal_error' },
  });
  t.is(log.length, 1);
});

test.serial('other content types, methods and parsers are unaffected', async (t) => {
  const { send } = await startHost(t);
  for (const init of [
    { body: 'a,b', headers: { 'content-type': 'text/csv' } },
    { ...json('{}'), method: 'DELETE' },
    { method: 'GET' },
    { method: 'POST' },
  ]) {
    const { body, status } = await send(init);
    t.is(status, 200);
    t.deepEqual(body, { files: {}, unread: true });
  }
  const own = await startHost(t, { parseBodies: false });
  t.like((await own.send(json('{'))).body, { unread: true });
  const parsed = await startHost(t, {}, [koaBody({ multipart: true, jsonStrict: false })]);
  t.deepEqual((await parsed.send(json('{"a":1,"a":2}'))).body['body'], { a: 2 }, 'by the parser of the host');
  t.deepEqual((await parsed.send(multipart(field('a', 'x')))).body['body'], { a: 'x' });
});

const answer: Middleware = (ctx) => {
  const { body, files } = ctx.request;
  ctx.body = { body, files: files && Object.keys(files), unread: !ctx.req.readableDidRead };
};

const refuse: Middleware = (ctx) =>
  ctx.throw(403, ctx.req.readableDidRead ? 'It was read.' : 'It is unread.');

test.serial(
  'a route has limits of its own with parseBody(), and those of the API for the others',
  async (t) => {
    const { call, platform } = await serveApi(t, {
      maxBodyBytes: 50,
      uploads: { maxBodyBytes: 1000, maxFiles: 1 },
      extend(api) {
        api.post('/default', answer);
        api.post('/large', api.parseBody({ maxBodyBytes: 100, uploads: { maxFiles: 2 } }), answer);
        api.use(
          '/nested',
          new Router().post('/large', api.parseBody({ maxBodyBytes: 100 }), answer).routes(),
        );
        api.post('/refused', refuse, api.parseBody(), answer);
      },
    });
    const token = await platform.userToken();
    const send: Send = async (init, path = '/large') => call(path, token, { method: 'POST', ...init });

    const body = `"${'x'.repeat(90)}"`;
    for (const path of ['/large', '/nested/large'])
      t.like(await send(json(body), path), { status: 200, body: { body: JSON.parse(body) } }, path);
    const two = multipart(file('a', '1'), file('b', '2'));
    t.like(await send(two), { status: 200, body: { files: ['a', 'b'] } });
    for (const [path, init, message] of [
      ['/default', json(body), 'The body is larger than 50 bytes.'],
      ['/default', two, 'The body has more than 1 files.'],
      ['/large', json(`"${'x'.repeat(100)}"`), 'The body is larger than 100 bytes.'],
      ['/large', multipart(file('a', 'x'.repeat(1000))), 'The body is larger than 1000 bytes.'],
      ['/nested/large', two, 'The body has more than 1 files.'],
    ] as const)
      t.like(await send(init, path), { status: 413, body: { code: 'body_invalid', message } }, path);
    t.like(await send(json('{'), '/refused'), { status: 403, body: { message: 'It is unread.' } });
  },
);

test.serial('middleware that a host adds in front of its routes comes before their parser', async (t) => {
  const { api, call, platform } = await serveApi(t, {
    maxBodyBytes: 10,
    extend(front) {
      front.use('/refused', refuse);
      front.use('/parsed', koaBody());
      front.use('/film', front.parseBody({ maxBodyBytes: 100 }));
      front.all('/large', async (_ctx, next) => next());
    },
  });
  for (const path of ['/refused', '/parsed', '/film', '/plain']) api.post(path, answer);
  api.post('/large', api.parseBody({ maxBodyBytes: 100 }), answer);
  api.post(['/one', '/two'], answer);
  const token = await platform.userToken();
  const send: Send = async (init, path = '') => call(path, token, { method: 'POST', ...init });
  t.like((await send(json('[1]'), '/refused')).body, { message: 'It is unread.' });
  for (const path of ['/parsed', '/film', '/large']) {
    const { body, status } = await send(json('["more than ten bytes"]'), path);
    t.is(status, 200, path);
    t.deepEqual(body['body'], ['more than ten bytes'], path);
  }
  for (const path of ['/plain', '/one', '/two']) {
    t.deepEqual((await send(json('[1]'), path)).body['body'], [1], path);
    t.is((await send(json('["more than ten bytes"]'), path)).status, 413, path);
  }
  t.is((await send(json('{'), '/none')).status, 404, 'the body of no route is not read');
  t.is((await send({ ...json('{'), method: 'PUT' }, '/plain')).status, 405);
});

test.serial('parseBody() parses the body of its route where parseBodies is false', async (t) => {
  const { call, platform } = await serveApi(t, {
    parseBodies: false,
    extend(api) {
      api.post('/own', answer);
      api.post('/parsed', api.parseBody(), answer);
    },
  });
  const token = await platform.userToken();
  const send: Send = async (init, path = '') => call(path, token, { method: 'POST', ...init });
  t.deepEqual((await send(json('[1]'), '/own')).body, { unread: true });
  t.deepEqual((await send(json('[1]'), '/parsed')).body, { body: [1], unread: false });
});

test('a limit of a route that is not one is a ConfigError', (t) => {
  const api = createApiRouter({ auth: authOf(createPlatform()) });
  const wrong: readonly [limits: object, message: string][] = [
    [{ maxBodyBytes: 0 }, 'parseBody({ maxBodyBytes }): give a whole number of at least 1'],
    [{ uploads: { maxFiles: 1.5 } }, 'parseBody({ uploads.maxFiles }): give a whole number of at least 1'],
    [
      { maxFiles: 1 },
      'parseBody({ maxFiles }): there is no such option; did you mean uploads.maxFiles? The options are maxBodyBytes, uploads',
    ],
  ];
  for (const [limits, message] of wrong)
    t.throws(() => api.parseBody(limits), { instanceOf: ConfigError, message });
});

test.serial('no body is read without a token, and actions read their own body', async (t) => {
  const { create } = schoolActions(new Map());
  const { send, origin } = await startHost(t, { actions: [create], maxBodyBytes: 50 });
  const unauthorized = await request(`${origin}/api/v1/echo`, undefined, { method: 'POST', ...json('{') });
  t.is(unauthorized.status, 401);
  const items = Array.from({ length: 10 }, (_, index) => ({ input: { name: `School ${index}` } }));
  const bulk = await send(json(JSON.stringify({ items })), '/actions/school/create-school-action/bulk');
  t.is(bulk.status, 200, 'a bulk has its own limit');
  const wrong = await send({ body: 'a=b', headers: FORM }, '/actions/school/create-school-action');
  t.is(wrong.status, 415);
});

test.serial('any multipart body is answered with a status below 500', async (t) => {
  const { send, log, errors } = await startHost(t, {
    maxBodyBytes: 1000,
    uploads: { maxBodyBytes: 5000, maxFiles: 3 },
  });
  const separators = [
    '--x',
    '--x--',
    '\r\n',
    '\r',
    '\n',
    ': ',
    'x',
    '',
    '\0',
    'ä',
    '"',
    ';',
    '=',
    '\r\n\r\n',
  ];
  const piece = fc.constantFrom(
    ...separators,
    'y'.repeat(1200),
    'Content-Disposition: form-data; name="a"',
    'Content-Disposition: form-data; name="b"; filename="c"',
    'Content-Disposition: form-data; name="d"; filename=""',
    'Content-Disposition: attachment; filename*=x',
    'Content-Type: text/plain',
    'Content-Transfer-Encoding: base64',
    'Content-Transfer-Encoding: quoted-printable',
    'name="constructor"',
    field('e', 'f'),
    file('g', 'h'),
  );
  const ends = ['boundary=x', 'boundary="x"', 'boundary=', 'boundary="', 'Boundary=x; charset=x', ''];
  const type = fc.constantFrom(...ends.map((end) => `multipart/form-data; ${end}`));
  const statuses = new Set<number>();
  await fc.assert(
    fc.asyncProperty(
      fc.array(piece, { maxLength: 30 }),
      type,
      fc.boolean(),
      async (pieces, contentType, closed) => {
        const body = `--x\r\n${pieces.join('')}${closed ? '\r\n--x--' : ''}`;
        const { status } = await send({ body, headers: { 'content-type': contentType } });
        statuses.add(status);
        if (status >= 500) throw new Error(String(status));
      },
    ),
    { seed: SEED, numRuns: 300 },
  );
  for (const expected of [200, 400]) t.true(statuses.has(expected), String(expected));
  await filesAreRemoved(t);
  t.deepEqual(log, []);
  t.deepEqual(errors, []);
});
