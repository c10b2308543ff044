import { once } from 'node:events';
import type { OutgoingHttpHeaders } from 'node:http';
import { connect, constants, createServer } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, Settings } from 'node:http2';
import { connect as connectSocket } from 'node:net';
import type { Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { text } from 'node:stream/consumers';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Middleware } from 'koa';
import { createApiRouter } from 'koa-gatehouse';

import { startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { asClient, clientToken } from '../../harness/tokens.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

/** Serves a platform over HTTP/2 too, on another port. */
async function serve(
  t: ExecutionContext,
  { auth }: Pick<Platform, 'auth'>,
  ...middleware: readonly Middleware[]
): Promise<() => Socket> {
  const { port } = endWith(t, await listenOn(createServer(auth.callback(...middleware))));
  return () => connectSocket(port, '127.0.0.1');
}

async function session(
  t: ExecutionContext,
  platform: Pick<Platform, 'auth'>,
  settings: Settings = {},
): Promise<ClientHttp2Session> {
  const open = await serve(t, platform);
  const client = connect('http://127.0.0.1', { createConnection: open, settings });
  t.teardown(() => client.destroy());
  return client;
}

/** Opens a connection to a platform with a route of its host, and returns what sends a request to that route. */
async function sessionWithRoute(
  t: ExecutionContext,
  platform: Platform,
  ...route: Middleware[]
): Promise<() => ClientHttp2Stream> {
  const api = createApiRouter({ auth: platform.auth });
  api.post('/own', ...(route as Parameters<typeof api.post>[1][]));
  const client = connect('http://127.0.0.1', {
    createConnection: await serve(t, platform, api.routes() as Middleware),
  });
  t.teardown(() => client.destroy());
  const token = await clientToken(platform, await platform.registerService(['view_schools']));
  return () =>
    client.request({
      ':path': '/api/v1/own',
      ':method': 'POST',
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
    });
}

const POST_TOKEN = { ':path': '/oauth/token', ':method': 'POST', 'content-type': 'application/json' };

function problemsIn({ logger }: Pick<Platform, 'logger'>): readonly object[] {
  return logger.lines.filter(({ level }) => level === 'error' || level === 'warn');
}

test('streams that their clients end leave no line in the log and no place taken, and the connection goes on', async (t) => {
  await using platform = await startPlatform({ limits: { concurrency: 20 } });
  const client = await session(t, platform);
  const service = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  for (let round = 0; round < 50; round += 1) {
    const streams = ['/oauth/authorize?client_id=none', '/oauth/login', '/oauth/jwks'].map((path) =>
      client.request({ ':path': path }),
    );
    const posted = client.request(POST_TOKEN);
    posted.write('{');
    await Promise.all(
      [posted, ...streams].map(async (stream) => {
        const closed = new Promise((resolve) => void stream.on('error', () => {}).on('close', resolve));
        if (round % 2 === 1 && stream !== posted) await once(stream, 'response');
        else await setImmediate();
        stream.close(round % 3 === 0 ? constants.NGHTTP2_INTERNAL_ERROR : constants.NGHTTP2_CANCEL);
        await closed;
      }),
    );
  }
  const sent = client.request(POST_TOKEN);
  sent.end(JSON.stringify(service));
  t.is(typeof JSON.parse(await text(sent)).access_token, 'string');
  await platform.auth.close();
  t.deepEqual(problemsIn(platform), []);
});

test('a connection that its client resets leaves no line in the log', async (t) => {
  await using platform = await startPlatform();
  const open = await serve(t, platform);
  for (let round = 0; round < 50; round += 1) {
    const socket = open();
    const client = connect('http://127.0.0.1', { createConnection: () => socket }).on('error', () => {});
    const streams = ['/oauth/authorize?client_id=none', '/oauth/jwks'].map((path) =>
      client.request({ ':path': path }).on('error', () => {}),
    );
    const posted = client.request(POST_TOKEN).on('error', () => {});
    posted.write('{');
    if (round % 2 === 1) await Promise.all(streams.map(async (stream) => once(stream, 'response')));
    else await once(client, 'remoteSettings');
    socket.resetAndDestroy();
    await once(client, 'close');
  }
  await platform.auth.close();
  t.deepEqual(problemsIn(platform), []);
});

test('a body that does not arrive, and whose length is not known, is given up', async (t) => {
  await using platform = await startPlatform({ limits: { bodyTimeout: '1 second' } });
  const client = await session(t, platform);
  const posted = client.request(POST_TOKEN);
  posted.write('{');
  const [headers] = (await once(posted, 'response')) as [Record<string, unknown>];
  t.is(headers[':status'], 408);
  posted.resume().end();
});

test('a body whose client does not end it holds no place once its response was sent', async (t) => {
  await using platform = await startPlatform({ limits: { bodyTimeout: '1 second', concurrency: 1 } });
  const client = await session(t, platform);
  const service = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  const unended: readonly [status: number, headers: OutgoingHttpHeaders][] = [
    [408, POST_TOKEN],
    [408, { ...POST_TOKEN, 'content-length': 100 }],
    [400, { ...POST_TOKEN, 'content-length': 99_999_999 }],
    [404, { ...POST_TOKEN, ':path': '/oauth/nothing' }],
  ];
  const closed: Promise<unknown>[] = [];
  for (const [status, headers] of unended) {
    // More than there are places.
    for (let request = 0; request < 2; request += 1) {
      const stream = client.request(headers);
      stream.write('{');
      closed.push(
        once(stream.resume(), 'close').then(() => t.is(stream.rstCode, constants.NGHTTP2_NO_ERROR)),
      );
      const [answer] = (await once(stream, 'response')) as [Record<string, unknown>];
      t.is(answer[':status'], status, JSON.stringify(headers));
    }
  }
  const sent = client.request(POST_TOKEN);
  sent.end(JSON.stringify(service));
  t.is(typeof JSON.parse(await text(sent)).access_token, 'string');
  await Promise.all(closed);
  t.deepEqual(problemsIn(platform), []);
});

test('a route of the host that stops reading a body receives others afterwards, and its response is sent whole', async (t) => {
  await using platform = await startPlatform({ limits: { concurrency: 1 } });
  const post = await sessionWithRoute(t, platform, async (ctx) => {
    await once(ctx.req, 'data');
    ctx.req.pause();
    ctx.body = 'x'.repeat(300_000);
  });
  for (let request = 0; request < 3; request += 1) {
    const stream = post();
    stream.write(Buffer.alloc(50_000));
    t.is((await text(stream)).length, 300_000);
  }
  t.deepEqual(problemsIn(platform), []);
});

test('a body that a route of the host reads, and that does not arrive, is given up, and the route hears of it', async (t) => {
  await using platform = await startPlatform({ limits: { bodyTimeout: '1 second', concurrency: 1 } });
  const post = await sessionWithRoute(t, platform, async ({ req, response }) => {
    // As parsers of bodies do.
    response.body = await new Promise<string>((resolve) => {
      req.on('data', () => {}).on('end', () => resolve('received'));
      req.on('aborted', () => resolve('aborted'));
    });
  });
  const unended = post().resume();
  unended.write('{');
  await once(unended, 'close');
  t.is(await text(post().end('{}')), 'received', 'its place is free');
  t.deepEqual(problemsIn(platform), []);
});

test('a response that its client does not receive ends, and the connection goes on', async (t) => {
  await using platform = await startPlatform({ limits: { bodyTimeout: '1 second' } });
  const client = await session(t, platform, { initialWindowSize: 0 });
  const unread = client.request({ ':path': '/oauth/jwks' });
  await Promise.all([once(unread, 'response'), once(unread.resume(), 'close')]);
  client.settings({ initialWindowSize: 65_535 });
  await once(client, 'localSettings');
  t.true((await text(client.request({ ':path': '/oauth/jwks' }))).startsWith('{"keys":['));
});

test('a server that closes sends no field Connection over HTTP/2', async (t) => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error): void => void warnings.push(warning);
  process.on('warning', onWarning);
  t.teardown(() => process.off('warning', onWarning));
  await using platform = await startPlatform();
  const client = await session(t, platform);
  void platform.auth.close();
  const refused = client.request({ ':path': '/oauth/login' });
  const [headers] = (await once(refused, 'response')) as [Record<string, unknown>];
  t.is(headers[':status'], 503);
  t.false('connection' in headers);
  refused.resume();
  await once(refused, 'close');
  t.deepEqual(warnings, []);
});
