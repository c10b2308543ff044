import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { get } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { createRequire } from 'node:module';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';

import test from '../harness/test.ts';

import { defineAction } from '../../lib/api/actions/define-action.ts';
import { request } from '../harness/requests.ts';
import { serveApi } from './api.ts';
import { PLAIN, schoolActions } from './school-actions.ts';

const { create, rename } = schoolActions();

const LIST = { access: 'public', viewer: false } as const;

test('without a viewer, the page lists each operation, and says how to get a token', async (t) => {
  const { call } = await serveApi(t, { actions: [create, rename], openapi: { ...LIST, title: 'Schools' } });
  const { status, headers, text } = await call('/docs');
  t.is(status, 200);
  t.is(headers.get('content-type'), 'text/html; charset=utf-8');
  t.regex(text, /<h1>Schools<\/h1>/);
  t.regex(
    text,
    /<dt>Rename a school<\/dt>\s*<dd><code>POST \/actions\/school\/\{id\}\/rename-school-action<\/code>/,
  );
  t.true(text.includes('curl -sS &#39;https://platform.example/oauth/token&#39;'));
  t.false(text.includes('device code'), 'there is no such grant here');
  t.true(text.indexOf('Get a token and make a first call') < text.indexOf('Rename a school'));
});

test('the page has no script and no external resource, and its Content-Security-Policy forbids them', async (t) => {
  const { call } = await serveApi(t, { actions: [create], openapi: LIST });
  const { headers, text } = await call('/docs');
  t.notRegex(text, /<script|\son\w+=|style=|javascript:/i);
  const addresses = Array.from(text.matchAll(/(?:src|href)="([^#"][^"]*)"/g), ([, address]) => address);
  t.deepEqual(addresses, ['/api/v1/docs.css', 'https://platform.example', '/api/v1/openapi.json']);
  t.is(
    headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
  t.is(headers.get('x-content-type-options'), 'nosniff');
  t.is(headers.get('x-frame-options'), 'DENY');
  const style = await call('/docs.css');
  t.is(style.headers.get('content-type'), 'text/css; charset=utf-8');
  t.notRegex(style.text, /url\(|@import/);
});

test('text of an action is escaped', async (t) => {
  const evil = `"'><img src=x onerror=alert(1)>&amp;`;
  const action = defineAction({
    ...PLAIN,
    name: 'paint-school-action',
    title: evil,
    description: evil,
    run: () => null,
  });
  const paths = { [`/x/{${evil}}`]: { get: { summary: evil, tags: [evil] } } };
  const { call } = await serveApi(t, {
    actions: [action],
    openapi: { ...LIST, title: evil, version: evil, description: evil, paths },
  });
  const { text } = await call('/docs');
  t.true(text.includes('&#34;&#39;&#62;&#60;img src=x onerror=alert(1)&#62;&#38;amp;'));
  t.notRegex(text, /<img|&amp;/);
});

test('routes of the host may omit parts of the OpenAPI description', async (t) => {
  const nothing = { $ref: '#/components/schemas/Nothing' };
  const loop = { $ref: '#/paths/~1b/post/requestBody' };
  const { call } = await serveApi(t, {
    openapi: {
      ...LIST,
      paths: {
        '/a': { get: {}, parameters: {}, summary: {} },
        '/b': { post: { requestBody: loop, parameters: [loop, nothing], responses: { 200: nothing } } },
        '/c': { delete: { responses: {} }, put: { requestBody: { content: { 'application/json': {} } } } },
      },
    },
  });
  const { status, text } = await call('/docs');
  t.is(status, 200);
  for (const heading of ['GET /a', 'POST /b', 'DELETE /c', 'PUT /c'])
    t.true(text.includes(`<dt>${heading}</dt>`), heading);
});

test('a public page runs no handler of the host', async (t) => {
  const ran: string[] = [];
  const handler = (ctx: { path: string; body: unknown }) => {
    ran.push(ctx.path);
    ctx.body = 'a secret';
  };
  const { call } = await serveApi(t, {
    openapi: LIST,
    extend(api) {
      api.use(handler);
      api.all('/:anything', handler);
      api.get('/docs', handler);
      // Even middleware that a host moves to the front of the router's stack.
      api.stack.unshift(api.stack.pop()!);
    },
  });
  for (const path of ['/openapi.json', '/docs', '/docs.css']) {
    for (const spelling of [path, `${path}/`, `${path}?a=b`]) {
      t.is((await call(spelling)).status, 200, spelling);
      t.is((await call(spelling, undefined, { method: 'HEAD' })).status, 200, spelling);
    }
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      t.is((await call(path, undefined, { method })).status, 401, method + path);
    }
    for (const spelling of [`${path}x`, path.toUpperCase(), `/${path}`, `${path}%00`, `${path}/x`]) {
      t.is((await call(spelling)).status, 401, spelling);
    }
  }
  t.deepEqual(ran, []);
});

test('the viewer is served by the platform alone: its page and its files need no token, its description does', async (t) => {
  const { call, origin, platform } = await serveApi(t, {
    actions: [create],
    openapi: { description: 'Private' },
  });
  const page = await call('/docs');
  t.is(page.status, 200);
  t.is(
    page.headers.get('content-security-policy'),
    "default-src 'none'; style-src 'self'; img-src 'self' data:; script-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'",
  );
  const addresses = [...page.text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, address]) => address!);
  for (const address of addresses.filter((one) => one.startsWith('/api/v1/docs/'))) {
    const { headers, status } = await request(origin + address);
    t.is(status, 200, address);
    const known = { 'if-none-match': headers.get('etag')!, 'cache-control': 'max-age=0' };
    t.is((await request(origin + address, undefined, { headers: known })).status, 304);
  }
  const { body, text } = await call('/docs/access.json');
  t.deepEqual((body as { paths: object }).paths, {});
  t.notRegex(text, /Private|create-school/);
  t.is((await call('/openapi.json')).status, 401);
  t.is((await call('/openapi.json', await platform.userToken())).status, 200);
  for (const other of ['/docs/package.json', '/docs/..%2fpackage.json', '/docs/swagger-ui.js'])
    t.is((await call(other)).status, 401, other);
});

/** A response as it is sent: `fetch()` would decode it. */
async function receive(
  url: string,
  headers: Record<string, string>,
): Promise<IncomingMessage & { bytes: Buffer }> {
  const [response] = (await once(get(url, { headers }), 'response')) as [IncomingMessage];
  return Object.assign(response, { bytes: await buffer(response) });
}

test('files of the viewer are compressed for clients that accept it, and sent once', async (t) => {
  const { origin } = await serveApi(t, { actions: [create], openapi: {} });
  const url = `${origin}/api/v1/docs/swagger-ui-bundle.js`;
  const script = readFileSync(createRequire(import.meta.url).resolve('swagger-ui-dist/swagger-ui-bundle.js'));
  const decoders = { br: brotliDecompressSync, gzip: gunzipSync, identity: (bytes: Buffer) => bytes };
  const etags = new Set<string>();
  for (const [accepted, coding] of [
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.1', 'gzip'],
    ['*', 'br'],
    ['identity', 'identity'],
    ['', 'identity'],
  ] as const) {
    const { bytes, headers, statusCode } = await receive(url, { 'accept-encoding': accepted });
    t.is(statusCode, 200, accepted);
    t.is(headers['content-encoding'] ?? 'identity', coding, accepted);
    t.is(headers.vary, 'Accept-Encoding');
    t.is(headers['content-length'], String(bytes.length));
    t.true(decoders[coding](bytes).equals(script), accepted);
    if (coding !== 'identity') t.true(bytes.length < script.length / 3, `${bytes.length} bytes`);
    etags.add(headers.etag!);
    const known = { 'accept-encoding': accepted, 'if-none-match': headers.etag! };
    const again = await receive(url, known);
    t.is(again.statusCode, 304, accepted);
    t.is(again.bytes.length, 0);
    t.is(again.headers.etag, headers.etag);
  }
  // A strong ETag is that of one sequence of bytes.
  t.is(etags.size, 3);
});
