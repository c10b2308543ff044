import { once } from 'node:events';
import { Agent, request } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';

import test from '../harness/test.ts';
import { defineAction } from 'koa-gatehouse';
import type { Storage } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { z } from 'zod';

import { startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { postForm, send } from '../harness/requests.ts';
import { requestsInProgress, untilIdle } from '../harness/requests-in-progress.ts';
import { around } from '../harness/storage.ts';
import { RawConnection } from '../harness/raw-connection.ts';
import { until } from '../harness/until.ts';
import { HOST } from './host.ts';

/** A storage whose clients.find waits for `release`; `most` is the greatest number of concurrent calls. */
function hangingStorage(): { storage: Storage; most: () => number; release: () => void } {
  const released = Promise.withResolvers<void>();
  let waiting = 0;
  let most = 0;
  const storage = around(memoryStorage(), async (name, call) => {
    if (name !== 'clients.find') return call();
    waiting += 1;
    most = Math.max(most, waiting);
    await released.promise;
    waiting -= 1;
    return call();
  });
  return { storage, most: () => most, release: released.resolve };
}

// A new id each time: concurrent look-ups of one client are one call.
const fieldsOfUnknownClient = (): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: crypto.randomUUID(),
  client_secret: 'x',
});

/** Sends an incomplete request, which counts until the test ends. */
async function occupyLimit(t: { teardown(f: () => void): void }, { origin, auth }: Platform): Promise<void> {
  const connection = await RawConnection.open(origin);
  t.teardown(() => connection.close());
  const form = new URLSearchParams(fieldsOfUnknownClient()).toString();
  connection.post('/oauth/token', form, { 'Content-Type': 'application/x-www-form-urlencoded' });
  while ((await requestsInProgress(auth)) === 0) await new Promise(setImmediate);
  await new Promise(setImmediate);
}

test('above limits.concurrency, token requests are refused at once, and accepted when the storage answers', async (t) => {
  const { storage, most, release } = hangingStorage();
  await using platform = await startPlatform({ storage, limits: { concurrency: 20 } });
  const url = platform.url('/oauth/token');

  const first = Array.from({ length: 20 }, async () => postForm(url, fieldsOfUnknownClient()));
  while (most() < 20) await new Promise(setImmediate);
  const refused = await Promise.all(
    Array.from({ length: 40 }, async () => postForm(url, fieldsOfUnknownClient())),
  );
  for (const { status, headers, body } of refused) {
    t.is(status, 503);
    t.is(headers.get('retry-after'), '1');
    t.not(headers.get('connection'), 'close');
    t.is(headers.get('cache-control'), 'no-store');
    t.deepEqual(body, {
      error: 'temporarily_unavailable',
      error_description: 'the server has too many requests at the moment; try again later',
    });
  }
  t.is(most(), 20);
  t.is(await requestsInProgress(platform.auth), 20);

  release();
  for (const { status } of await Promise.all(first)) t.is(status, 401);
  t.is(await requestsInProgress(platform.auth), 0);
  const { client, secret } = await platform.registerService();
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  const well = await Promise.all(Array.from({ length: 20 }, async () => platform.token(fields)));
  t.true(well.every(({ status }) => status === 200));
});

test('limits.concurrency: 0 means no limit', async (t) => {
  const { storage, most, release } = hangingStorage();
  await using platform = await startPlatform({ storage, limits: { concurrency: 0 } });
  const url = platform.url('/oauth/token');
  const answers = Array.from({ length: 50 }, async () => postForm(url, fieldsOfUnknownClient()));
  await until(() => most() === 50);
  release();
  for (const { status } of await Promise.all(answers)) t.is(status, 401);
});

test('above limits.concurrency, pages and the API answer 503, but not keys, metadata, health and routes of the host; failed requests are counted down', async (t) => {
  const { storage, release } = hangingStorage();
  await using platform = await startPlatform({ storage, limits: { concurrency: 1 } }, HOST);
  await occupyLimit(t, platform);

  for (const path of ['/oauth/login', '/account/apps', '/oauth/authorize?client_id=x']) {
    const page = await send(platform.url(path));
    t.is(page.status, 503, path);
    t.is(page.headers.get('retry-after'), '1', path);
    t.is(page.headers.get('content-type'), 'text/html; charset=utf-8', path);
    t.regex(page.text, /temporarily_unavailable/, path);
  }
  const { status, headers, body } = await platform.api('/identity', 'x');
  t.is(status, 503);
  t.is(headers.get('retry-after'), '1');
  t.like(body, {
    code: 'temporarily_unavailable',
    detail: 'The server has too many requests at the moment. Try again later.',
  });
  const free = ['/oauth/jwks', '/.well-known/oauth-authorization-server', '/livez', '/readyz'];
  for (const path of free) t.is((await send(platform.url(path))).status, 200, path);
  for (const path of ['/oauth/own', '/']) t.is((await send(platform.url(path))).text, 'the host’s', path);

  release();
  await untilIdle(platform);
  // Those that fail are counted down too.
  for (let count = 0; count < 3; count += 1) {
    t.is((await postForm(platform.url('/oauth/token'), fieldsOfUnknownClient())).status, 401);
    t.is((await send(platform.url('/oauth/interaction/gone'))).status, 400);
    t.is((await platform.api('/identity', 'x')).status, 401);
    t.is((await send(platform.url('/oauth/login'))).status, 200);
  }
  t.is(await requestsInProgress(platform.auth), 0);
});

/** A server with an action whose results are 100 kB each; the item `slow` waits for `release`. */
async function serveLargeBulks(options: Parameters<typeof startPlatform>[0]) {
  const released = Promise.withResolvers<void>();
  const timeouts: number[] = [];
  const describe = defineAction({
    type: 'school',
    name: 'describe-school-action',
    level: 'instance',
    title: 'Describe a school',
    permission: 'view_schools',
    input: z.object({}),
    output: z.string(),
    async run({ id }) {
      if (id === 'slow') await released.promise;
      return 'x'.repeat(100_000);
    },
  });
  const platform = await startPlatform(options, {
    before: [
      async (ctx, next) => {
        const { socket } = ctx.req as IncomingMessage & { socket: { server: Server } };
        socket.server.keepAliveTimeout = 0;
        timeouts.push(socket.timeout ?? 0);
        await next();
      },
    ],
    api: { actions: [describe] },
  });
  const { client: app } = await platform.registerApp();
  const { client: service } = await platform.registerService(['view_schools']);
  const agent = new Agent({ keepAlive: true });
  return {
    platform,
    release: released.resolve,
    /** The timeout of the connection at the begin of each request. */
    timeouts,
    user: await platform.auth.issueToken({ clientId: app.id, userId: '1' }),
    service: await platform.auth.issueToken({ clientId: service.id }),
    /** Sends a bulk, whose results are streamed by default, and reads none of them. */
    bulk: async (
      token: string,
      ids: readonly string[],
      accept = 'application/x-ndjson',
    ): Promise<IncomingMessage> => {
      const sent = request(platform.url('/api/v1/actions/school/describe-school-action/bulk'), {
        method: 'POST',
        agent,
        headers: {
          authorization: `Bearer ${token}`,
          'content-type': 'application/json',
          accept,
        },
      });
      sent.end(JSON.stringify({ items: ids.map((id) => ({ id })) }));
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      response.on('error', () => {});
      return response;
    },
    async [Symbol.asyncDispose]() {
      agent.destroy();
      await platform[Symbol.asyncDispose]();
    },
  };
}

test('a streamed response counts until its end, or until the client disconnects', async (t) => {
  await using server = await serveLargeBulks({ limits: { concurrency: 1 } });
  const { bulk, platform, release, service, user } = server;
  const other = async (): Promise<number> => (await platform.api('/identity', user)).status;
  // The response begins with the first result.
  const left = await bulk(user, ['quick', 'slow']);
  t.is(left.statusCode, 200);
  t.is(await other(), 503);
  left.destroy();
  await untilIdle(platform);

  const read = await bulk(service, ['quick', 'slow']);
  t.is(await other(), 503);
  release();
  t.is((await text(read)).trimEnd().split('\n').length, 3);
  await untilIdle(platform);
  t.is((await platform.api('/identity', user)).status, 200);
});

// More than the buffers of a connection take.
const LARGE = Array.from({ length: 300 }, (_, index) => String(index));

test('a caller that reads no results gets a tenth of limits.concurrency for them, and the others the rest', async (t) => {
  await using server = await serveLargeBulks({ limits: { concurrency: 20 } });
  const { bulk, platform, service, user } = server;
  const open = [await bulk(user, LARGE), await bulk(user, LARGE)];
  for (const response of open) t.is(response.statusCode, 200);
  for (let count = 0; count < 5; count += 1) {
    const refused = await bulk(user, LARGE);
    t.is(refused.statusCode, 429);
    t.is(refused.headers['retry-after'], '1');
    t.like(JSON.parse(await text(refused)), {
      code: 'too_many_requests',
      message:
        'The results of too many bulks are being sent to you. Read one of them to its end, or accept application/json only.',
    });
  }
  t.is(await requestsInProgress(platform.auth), 2);
  const others = [await bulk(service, LARGE), await bulk(service, LARGE)];
  for (const response of others) t.is(response.statusCode, 200);
  t.is((await bulk(service, LARGE)).statusCode, 429);
  t.is((await platform.api('/identity', user)).status, 200);

  // One is read to its end, and one is closed.
  t.is((await text(open[0]!)).trimEnd().split('\n').length, 301);
  open[1]!.destroy();
  await untilIdle(platform, 2);
  for (const status of [200, 200, 429]) t.is((await bulk(user, LARGE)).statusCode, status);
});

test('a stream that is not read keeps its place, and a complete response gives way', async (t) => {
  await using server = await serveLargeBulks({ limits: { concurrency: 2, bodyTimeout: '10 minutes' } });
  const { bulk, platform, service, user } = server;
  const stream = await bulk(user, LARGE);
  const whole = await bulk(service, LARGE, 'application/json');
  await until(async () => (await platform.api('/identity', user)).status === 200);
  await t.throwsAsync(text(whole), { code: 'ECONNRESET' });
  t.is((await text(stream)).trimEnd().split('\n').length, 301);
});

test('a bulk whose results are not received ends after bodyTimeout, one whose items take longer does not', async (t) => {
  await using server = await serveLargeBulks({ limits: { concurrency: 10, bodyTimeout: 1 } });
  const { bulk, platform, release, service, user } = server;
  const slow = await bulk(service, ['quick', 'slow']);
  for (let round = 0; round < 2; round += 1) {
    const unread = await bulk(user, LARGE);
    t.is(unread.statusCode, 200);
    t.is((await bulk(user, LARGE)).statusCode, 429);
    await untilIdle(platform, 1);
    await t.throwsAsync(text(unread), { code: 'ECONNRESET' });
  }
  release();
  t.deepEqual((await text(slow)).trimEnd().split('\n').at(-1), JSON.stringify({ succeeded: 2, failed: 0 }));
  const { client, secret } = await platform.registerService();
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  t.is((await platform.token(fields)).status, 200);
  t.deepEqual(
    platform.logger.lines.filter(({ level }) => level === 'error'),
    [],
  );
});

test('a stream behind a response that is not received ends too, on one connection', async (t) => {
  await using server = await serveLargeBulks({ limits: { bodyTimeout: 1 } });
  const { platform, user } = server;
  const socket = connect(Number(platform.url('/').port), '127.0.0.1');
  socket.pause();
  const items = LARGE.map((id) => ({ id }));
  const body = JSON.stringify({ items });
  for (const accept of ['application/json', 'application/x-ndjson']) {
    const head = [
      'POST /api/v1/actions/school/describe-school-action/bulk HTTP/1.1',
      'Host: localhost',
      `Authorization: Bearer ${user}`,
      'Content-Type: application/json',
      `Accept: ${accept}`,
      `Content-Length: ${body.length}`,
    ];
    socket.write(`${head.join('\r\n')}\r\n\r\n${body}`);
  }
  while (server.timeouts.length < 2) await new Promise(setImmediate);
  await untilIdle(platform);
  const closed = once(socket, 'close');
  socket.on('error', () => {}).resume();
  await closed;
  t.is((await platform.api('/identity', user)).status, 200);
});

test('a connection on which a stream was sent has the timeout of the server again', async (t) => {
  await using server = await serveLargeBulks({});
  const first = await server.bulk(server.user, ['1']);
  const { localPort } = first.socket;
  await text(first);
  const second = await server.bulk(server.user, ['1']);
  t.is(second.socket.localPort, localPort);
  await text(second);
  t.deepEqual(server.timeouts, [0, 0]);
});
