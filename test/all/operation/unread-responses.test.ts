import { once } from 'node:events';
import { connect } from 'node:net';
import type { Socket } from 'node:net';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Middleware } from 'koa';

import { startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { send } from '../../harness/requests.ts';
import { requestsInProgress, untilIdle } from '../../harness/requests-in-progress.ts';
import { until } from '../../harness/until.ts';

/** Public, and 1.7 MB when it is not compressed. */
const BUNDLE = '/api/v1/docs/swagger-ui-bundle.js';

async function startWithViewer(
  limits: { readonly concurrency?: number; readonly bodyTimeout?: string | number },
  before?: Middleware,
): Promise<Platform> {
  return startPlatform(
    { limits: limits as { concurrency: number } },
    {
      before: ({ auth }) => [...(before ? [before] : []), auth.health()],
      api: { actions: [], openapi: { access: 'public', viewer: true } },
    },
  );
}

/** A connection on which nothing is read. */
async function openUnread(t: ExecutionContext, platform: Platform): Promise<Socket> {
  const { hostname, port } = platform.url('/');
  const socket = connect(Number(port), hostname).pause();
  t.teardown(() => socket.destroy());
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

function ask(socket: Socket, path: string, count: number): void {
  socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`.repeat(count));
}

test('a response that nobody reads counts, and gives way to another request after a second', async (t) => {
  // It gives way to the other request, not because of bodyTimeout.
  await using platform = await startWithViewer({ concurrency: 1, bodyTimeout: '10 minutes' });
  const login = async (): Promise<number> => (await send(platform.url('/oauth/login'))).status;
  for (let round = 0; round < 2; round += 1) {
    let unread = await openUnread(t, platform);
    // The system takes the first megabytes of a connection, and a slow machine has closed it already.
    await until(async () => {
      if (unread.closed) unread = await openUnread(t, platform);
      ask(unread, BUNDLE, 1);
      return (await login()) === 503;
    });
    await until(async () => (await login()) === 200);
    unread.resume();
    await until(() => unread.closed);
    t.is(await login(), 200);
  }
});

test('a connection that receives nothing of its response is closed after bodyTimeout', async (t) => {
  await using platform = await startWithViewer({ bodyTimeout: 1 });
  // The last two are not counted: their responses are small, and the bundle is in front of them.
  for (const path of [BUNDLE, '/oauth/jwks', '/livez']) {
    const unread = await openUnread(t, platform);
    ask(unread, BUNDLE, 6);
    ask(unread, path, 1);
    await until(async () => (await requestsInProgress(platform.auth)) > 0);
    await untilIdle(platform);
    unread.resume();
    await until(() => unread.closed);
  }
  t.is((await send(platform.url('/oauth/login'))).status, 200);
});

test('a shorter time limit of the host stays', async (t) => {
  await using platform = await startWithViewer({ bodyTimeout: '10 minutes' }, async ({ req }, next) => {
    // Longer than it takes until the server looks for responses that are not received.
    req.socket.setTimeout(1500);
    await next();
  });
  const unread = await openUnread(t, platform);
  ask(unread, BUNDLE, 6);
  await until(async () => (await requestsInProgress(platform.auth)) > 0);
  await untilIdle(platform);
  unread.resume();
  await until(() => unread.closed);
  t.is((await send(platform.url('/oauth/login'))).status, 200);
});

test('responses with the same file share its bytes', async (t) => {
  await using platform = await startWithViewer({ bodyTimeout: '10 minutes' });
  t.is((await send(platform.url(BUNDLE))).status, 200);
  const { external: before } = process.memoryUsage();
  const open = await Promise.all(Array.from({ length: 40 }, async () => openUnread(t, platform)));
  for (const socket of open) ask(socket, BUNDLE, 6);
  await until(async () => (await requestsInProgress(platform.auth)) >= open.length);
  // One of them has 1.7 MB.
  const more = process.memoryUsage().external - before;
  t.true(more < 20e6, `${more} bytes`);
  for (const socket of open) socket.destroy();
  await untilIdle(platform);
});
