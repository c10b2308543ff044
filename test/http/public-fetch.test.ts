import { once } from 'node:events';
import type { RequestListener, ServerResponse } from 'node:http';
import { createServer } from 'node:net';
import { gzipSync } from 'node:zlib';

import test from '../harness/test.ts';
import type { ExecutionContext } from 'ava';

import { isPublicAddress } from '../../lib/http/address.ts';
import { createPublicFetch } from '../../lib/http/public-fetch.ts';
import type { PublicFetch } from '../../lib/http/public-fetch.ts';
import { PublicFetchError } from '../../lib/http/public-request.ts';
import type { Network, PublicFetchReason } from '../../lib/http/public-request.ts';
import { json, loopbackNetwork, servePublic, TLS } from '../harness/public-server.ts';
import { listenOn } from '../harness/serve.ts';

const KILOBYTES_5 = { maxBytes: 5 * 1024 };
const fetchOnLoopback = createPublicFetch(loopbackNetwork());

async function refused(
  t: ExecutionContext,
  fetching: Promise<unknown>,
  reason: PublicFetchReason,
  status?: number,
): Promise<PublicFetchError> {
  const error = await t.throwsAsync(fetching, { instanceOf: PublicFetchError });
  t.is(error.reason, reason, String(error.cause));
  t.is(error.status, status);
  // The message can be shown to strangers.
  t.notRegex(error.message, /\d+\.\d+|example|ENOTFOUND|ECONN|:/);
  return error;
}

const JSON_TYPE = { 'content-type': 'application/json' };

function responding(
  status: number,
  headers: Record<string, string>,
  body: string | Uint8Array = '',
): RequestListener {
  return (_request, response) => void response.writeHead(status, headers).end(body);
}

/** Fetches from a server that answers with a listener, and expects it to be refused. */
async function refusedFrom(
  t: ExecutionContext,
  listener: RequestListener,
  reason: PublicFetchReason,
  { status, fetch = fetchOnLoopback }: { status?: number; fetch?: PublicFetch } = {},
): Promise<void> {
  await using server = await servePublic(listener);
  await refused(t, fetch(`${server.origin}/app.json`, KILOBYTES_5), reason, status);
}

test('gets a JSON document with its lifetime', async (t) => {
  const lifetimes: ReadonlyArray<readonly [Record<string, string>, number | undefined]> = [
    [{}, undefined],
    [{ 'cache-control': 'public, max-age=300' }, 300],
    [{ 'cache-control': 'max-age=300', age: '100' }, 200],
    [{ 'cache-control': 'max-age=300', age: '400' }, 0],
    [{ 'cache-control': 'no-store, max-age=300' }, 0],
    [{ expires: new Date(Date.now() + 600_000).toUTCString(), date: new Date().toUTCString() }, 600],
    [{ expires: '0' }, 0],
  ];
  for (const [headers, maxAge] of lifetimes) {
    await using server = await servePublic(json({ client_name: 'App' }, headers));
    const found = await fetchOnLoopback(`${server.origin}/app.json?v=1`, KILOBYTES_5);
    t.deepEqual(found.value, { client_name: 'App' });
    if (maxAge === 600) t.true(Math.abs(found.maxAge! - 600) <= 1);
    else t.is(found.maxAge, maxAge);
    t.deepEqual(server.requests, ['/app.json?v=1']);
  }
});

test('says to the server who asks, and for what, without credentials', async (t) => {
  let headers: unknown;
  await using server = await servePublic((request, response) => {
    ({ headers } = request);
    response.setHeader('content-type', 'application/jwk-set+json; charset=utf-8').end('{"keys":[]}');
  });
  t.deepEqual((await fetchOnLoopback(server.origin, KILOBYTES_5)).value, { keys: [] });
  t.deepEqual(headers, {
    accept: 'application/json',
    'accept-encoding': 'identity',
    'user-agent': 'koa-gatehouse',
    host: new URL(server.origin).host,
    connection: 'close',
  });
});

test('refuses URLs that are not https, or that contain credentials, a fragment or a final dot', async (t) => {
  const schemes = [
    'http://apps.example/app.json',
    'ftp://apps.example/',
    'file:///etc/passwd',
    'data:application/json,{}',
  ];
  const user = ['https://user@apps.example/', 'https://user:secret@apps.example/'];
  const host = ['https://apps.example/#part', 'https://apps.example/#', 'https://apps.example./'];
  for (const url of [...schemes, ...user, ...host, '/app.json', 'https://', '']) {
    await refused(t, fetchOnLoopback(url, KILOBYTES_5), 'url');
  }
});

test('refuses addresses that are not public, in every notation', async (t) => {
  const resolved: string[] = [];
  const fetch = createPublicFetch({
    resolve: async (hostname) => {
      resolved.push(hostname);
      return [hostname];
    },
    isPublic: isPublicAddress,
    ca: undefined,
  });
  const ipv4 = `127.0.0.1 127.1 2130706433 0x7f.0.0.1 0177.0.0.1 0 １２７.0.0.1 127。0。0。1 10.0.0.1 100.64.0.1
    169.254.169.254 172.16.0.1 192.168.1.1 198.18.0.1 224.0.0.1 255.255.255.255`;
  const ipv6 = `[::] [::1] [::ffff:127.0.0.1] [::ffff:8.8.8.8] [::127.0.0.1] [64:ff9b::127.0.0.1] [64:ff9b:1::1]
    [2001::1] [2001:db8::1] [2002:7f00:1::] [3fff::1] [5f00::1] [fc00::1] [fe80::1] [fec0::1] [ff02::1] [100::1]`;
  for (const host of `${ipv4} ${ipv6}`.split(/\s+/)) {
    await refused(t, fetch(`https://${host}/app.json`, KILOBYTES_5), 'no_public_address');
  }
  // Addresses are not resolved.
  t.deepEqual(resolved, []);
});

test('tells public addresses from the others', (t) => {
  for (const address of ['8.8.8.8', '1.1.1.1', '193.0.6.139', '2606:4700::1111', '2a00:1450::1'])
    t.true(isPublicAddress(address), address);
  for (const address of ['', 'localhost', '8.8.8', '8.8.8.8:80', '::ffff:8.8.8.8', '2606:4700::1%eth0'])
    t.false(isPublicAddress(address), address);
});

test('one answer for a name without an address, with a private one, and for a failed look-up', async (t) => {
  const answers: Array<Network['resolve']> = [
    async () => [],
    async () => ['10.0.0.1', 'fd00::1', 'not-an-address'],
    () => Promise.reject(new Error('ENOTFOUND')),
  ];
  const errors = await Promise.all(
    answers.map(async (resolve) => {
      const fetch = createPublicFetch({ resolve, isPublic: isPublicAddress, ca: undefined });
      return refused(t, fetch('https://apps.example/', KILOBYTES_5), 'no_public_address');
    }),
  );
  t.is(new Set(errors.map(({ message }) => message)).size, 1);
});

test('connects to the address that was checked, when the DNS gives another one afterwards', async (t) => {
  await using allowed = await servePublic(json({ from: 'the checked address' }));
  const { port } = new URL(allowed.origin);
  await using forbidden = await servePublic(json({ from: 'another' }), {
    address: '127.0.0.2',
    port: Number(port),
  });
  const answers = ['127.0.0.1', '127.0.0.2'];
  let lookups = 0;
  const fetch = createPublicFetch({
    ...loopbackNetwork(),
    resolve: async () => [answers[lookups++ % answers.length]!],
  });
  const { value } = await fetch(`${allowed.origin}/app.json`, KILOBYTES_5);
  t.deepEqual(value, { from: 'the checked address' });
  t.is(lookups, 1);
  await refused(t, fetch(`${allowed.origin}/app.json`, KILOBYTES_5), 'no_public_address');
  t.is(forbidden.connections(), 0);
});

test('connects to the public ones of several addresses alone', async (t) => {
  await using allowed = await servePublic(json({}));
  await using forbidden = await servePublic(json({}), {
    address: '127.0.0.2',
    port: Number(new URL(allowed.origin).port),
  });
  const fetch = createPublicFetch({
    ...loopbackNetwork(),
    resolve: async () => ['127.0.0.2', '::1', '127.0.0.1'],
  });
  t.deepEqual((await fetch(allowed.origin, KILOBYTES_5)).value, {});
  t.is(forbidden.connections(), 0);
});

test('does not follow redirects', async (t) => {
  await using target = await servePublic(json({}));
  for (const status of [301, 302, 303, 307, 308])
    await refusedFrom(t, responding(status, { location: `${target.origin}/` }), 'redirect', { status });
  t.is(target.connections(), 0);
});

test('refuses every status but 200', async (t) => {
  for (const status of [201, 204, 206, 400, 404, 410, 500]) {
    await refusedFrom(t, responding(status, JSON_TYPE, status === 204 ? '' : '{}'), 'status', { status });
  }
});

test('refuses what is not JSON', async (t) => {
  for (const type of ['text/html', 'text/plain', 'application/jsonp', 'application/json-seq'])
    await refusedFrom(t, responding(200, { 'content-type': type }, '{}'), 'content_type');
  await refusedFrom(t, responding(200, {}, '{}'), 'content_type');
  const notUtf8 = Buffer.from([0x22, 0xff, 0x22]);
  for (const body of [
    '',
    '<html>',
    '{"a":1,"a":2}',
    '{"a":"\\u0000"}',
    '"\\ud800"',
    '['.repeat(2000),
    notUtf8,
  ])
    await refusedFrom(t, responding(200, JSON_TYPE, body), 'not_json');
});

/** Sends zeros until the other side closes the connection or a gigabyte is sent. */
async function sendGigabyte(response: ServerResponse): Promise<number> {
  const chunk = Buffer.alloc(1024 * 1024, 0x20);
  let sent = 0;
  while (sent < 1024 && !response.destroyed) {
    sent += 1;
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
  return sent;
}

test.serial('a gigabyte costs neither memory nor time', async (t) => {
  let sending: Promise<number> | undefined;
  await using server = await servePublic((_request, response) => {
    response.setHeader('content-type', 'application/json');
    response.on('error', () => {});
    sending = sendGigabyte(response);
  });
  const before = process.memoryUsage.rss();
  const startedAt = performance.now();
  await refused(t, fetchOnLoopback(`${server.origin}/`, KILOBYTES_5), 'too_large');
  t.true(performance.now() - startedAt < 10_000);
  // The megabytes that fit into the buffers of the two sockets.
  t.true((await sending!) < 64);
  t.true(process.memoryUsage.rss() - before < 64 * 1024 * 1024);
});

test.serial('a process that is busy while it connects does not give the address up', async (t) => {
  await using server = await servePublic(json('fetched'));
  const fetch = createPublicFetch({
    ...loopbackNetwork(),
    isPublic: () => true,
    async resolve() {
      await new Promise(setImmediate);
      // After the connection was begun, and before the event loop can see that it is made.
      process.nextTick(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600));
      // Nothing listens at the second one.
      return ['127.0.0.1', '127.0.0.2'];
    },
  });
  t.is((await fetch(`${server.origin}/`, KILOBYTES_5)).value, 'fetched');
});

const fetch100: PublicFetch = async (url) => fetchOnLoopback(url, { maxBytes: 100 });

test('refuses a document that announces or has one byte more than is allowed', async (t) => {
  const exact = JSON.stringify('x'.repeat(98));
  await using server = await servePublic(responding(200, JSON_TYPE, exact));
  t.is((await fetch100(server.origin, KILOBYTES_5)).value, 'x'.repeat(98));
  await refusedFrom(t, json('x'.repeat(99)), 'too_large', { fetch: fetch100 });
  await refusedFrom(
    t,
    (_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.write(exact);
      response.end(' ');
    },
    'too_large',
    { fetch: fetch100 },
  );
});

test('refuses compressed documents, so that nothing is decompressed', async (t) => {
  const bomb = gzipSync(Buffer.alloc(4 * 1024 * 1024, 0x20));
  t.true(bomb.length < 5 * 1024);
  for (const encoding of ['gzip', 'br', 'deflate', 'zstd', 'x-gzip'])
    await refusedFrom(
      t,
      responding(200, { ...JSON_TYPE, 'content-encoding': encoding }, bomb),
      'content_encoding',
    );
});

// In milliseconds.
const SHORT = { timeout: 300, maxRunning: 32, maxRunningPerOrigin: 2 };

test.serial('ends in time when the resolver, the handshake, the head or the body is slow', async (t) => {
  const network = loopbackNetwork();
  const endsInTime = async (fetching: Promise<unknown>): Promise<void> => {
    const startedAt = performance.now();
    await refused(t, fetching, 'timeout');
    t.true(performance.now() - startedAt < 10_000);
  };
  const silentResolver = { ...network, resolve: async () => new Promise<never>(() => {}) };
  await endsInTime(createPublicFetch(silentResolver, SHORT)('https://apps.example/', KILOBYTES_5));

  const fetch = createPublicFetch(network, SHORT);
  const closed = Promise.withResolvers<void>();
  const silent = createServer((socket) =>
    socket
      .on('error', () => {})
      .on('close', () => closed.resolve())
      .resume(),
  );
  await using listening = await listenOn(silent);
  await endsInTime(fetch(`https://apps.example:${listening.port}/`, KILOBYTES_5));
  await closed.promise;

  const ended = Promise.withResolvers<void>();
  await using dripping = await servePublic((_request, response) => {
    response.setHeader('content-type', 'application/json');
    const timer = setInterval(() => response.write(' '), 20);
    response.on('close', () => {
      clearInterval(timer);
      ended.resolve();
    });
  });
  await endsInTime(fetch(dripping.origin, KILOBYTES_5));
  await ended.promise;

  await using early = await servePublic((_request, response) => {
    const timer = setInterval(() => response.writeProcessing(), 20);
    response.on('close', () => clearInterval(timer));
  });
  await endsInTime(fetch(early.origin, KILOBYTES_5));
});

test('refuses a certificate that is not trusted, or of another host', async (t) => {
  await using server = await servePublic(json({}));
  const trusting = loopbackNetwork();
  const fetch = createPublicFetch({ ...trusting, ca: undefined });
  await refused(t, fetch(server.origin, KILOBYTES_5), 'certificate');
  await refused(t, fetchOnLoopback(server.at('other.example'), KILOBYTES_5), 'certificate');
  t.deepEqual(server.requests, []);
  t.true(TLS.cert.startsWith('-----BEGIN CERTIFICATE-----'));
});

test.serial('the environment does not turn off the check of certificates', async (t) => {
  await using server = await servePublic(json({}));
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  try {
    await refused(t, fetchOnLoopback(server.at('other.example'), KILOBYTES_5), 'certificate');
  } finally {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  }
});

test('a connection that is refused, reset or speaks no TLS', async (t) => {
  const server = createServer((socket) => {
    socket.on('error', () => {}).resume();
    socket.end('HTTP/1.1 200 OK\r\n\r\n{}');
  });
  const listening = await listenOn(server);
  const url = `https://apps.example:${listening.port}/`;
  await refused(t, fetchOnLoopback(url, KILOBYTES_5), 'connection');
  await listening[Symbol.asyncDispose]();
  await refused(t, fetchOnLoopback(url, KILOBYTES_5), 'connection');
  await refusedFrom(t, (request) => request.socket.destroy(), 'connection');
  await refusedFrom(
    t,
    (request, response) => {
      response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
      response.write('{', () => request.socket.destroy());
    },
    'connection',
  );
});

test('the number of running fetches is limited in total and per origin', async (t) => {
  const fetch = createPublicFetch(loopbackNetwork(), { ...SHORT, timeout: 5000, maxRunning: 3 });
  const arrived: Array<() => void> = [];
  const three = Promise.withResolvers<void>();
  const listener: RequestListener = (_request, response) => {
    arrived.push(() => response.setHeader('content-type', 'application/json').end('{}'));
    if (arrived.length === 3) three.resolve();
  };
  await using one = await servePublic(listener);
  await using two = await servePublic(listener);
  const running = [fetch(`${one.origin}/1`, KILOBYTES_5), fetch(`${one.origin}/2`, KILOBYTES_5)];
  await refused(t, fetch(`${one.origin}/3`, KILOBYTES_5), 'busy');
  running.push(fetch(`${two.origin}/1`, KILOBYTES_5));
  await refused(t, fetch(`${two.origin}/2`, KILOBYTES_5), 'busy');
  await three.promise;
  for (const answer of arrived) answer();
  await Promise.all(running);
  const again = fetch(`${two.origin}/2`, KILOBYTES_5);
  while (arrived.length < 4) await new Promise(setImmediate);
  arrived[3]!();
  t.deepEqual((await again).value, {});
});
