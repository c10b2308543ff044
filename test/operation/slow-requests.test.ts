// Alone: it measures how long requests take.
import { createServer } from 'node:http';
import type { Server } from 'node:http';

import test from 'ava';
import { createAuthServer } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';
import { pages } from 'koa-gatehouse/interactions';

import { CONNECTION_LIMITS } from '../../examples/server/connection-limits.ts';
import { gate, people, startPlatform } from '../harness/platform.ts';
import type { Platform } from '../harness/platform.ts';
import { requestsInProgress } from '../harness/requests-in-progress.ts';
import { RawConnection } from '../harness/raw-connection.ts';

const HALF = 'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\n';
const HEAD = `${HALF}Content-Type: application/json\r\nContent-Length: 50000\r\n\r\n`;

/** The duration in milliseconds. */
async function fiftyTokens(platform: Platform, fields: Record<string, string>): Promise<number> {
  const begun = performance.now();
  const answers = await Promise.all(Array.from({ length: 50 }, async () => platform.token(fields)));
  for (const { status, body } of answers) {
    if (status !== 200) throw new Error(`${status} ${JSON.stringify(body)}`);
  }
  return performance.now() - begun;
}

test('200 half-open connections and 200 slow bodies delay other clients for at most a second', async (t) => {
  await using platform = await startPlatform({ limits: { requests: 100 } });
  const { client, secret } = await platform.registerService();
  const fields = { grant_type: 'client_credentials', client_id: client.id, client_secret: secret };
  await fiftyTokens(platform, fields);
  const alone = await fiftyTokens(platform, fields);

  const slow: RawConnection[] = [];
  for (let count = 0; count < 400; count += 1) {
    const connection = await RawConnection.open(platform.origin);
    slow.push(connection);
    connection.write(count % 2 === 0 ? HALF : HEAD);
  }
  while ((await requestsInProgress(platform.auth)) < 100) await new Promise(setImmediate);
  const dripping = setInterval(() => {
    for (const [index, connection] of slow.entries())
      connection.write(index % 2 === 0 ? 'X-Field: x\r\n' : ' ');
  }, 20);
  // The slow requests are given up after a second.
  const since = performance.now();
  let duringSlow: number | undefined;
  while (duringSlow === undefined && performance.now() - since < 10_000) {
    duringSlow = await fiftyTokens(platform, fields).catch(() => undefined);
  }
  clearInterval(dripping);
  for (const connection of slow) connection.close();

  t.log(`50 tokens: ${alone.toFixed()} ms, duringSlow 400 slow connections ${duringSlow?.toFixed()} ms`);
  t.true(duringSlow! < 10 * alone + 2000);
  while ((await requestsInProgress(platform.auth)) > 0) await new Promise(setImmediate);
  await fiftyTokens(platform, fields);
});

test('the limits of the bundled example close slow and half-open connections', async (t) => {
  const { headersTimeout, keepAliveTimeout, requestTimeout } = CONNECTION_LIMITS;
  for (const limit of [headersTimeout, keepAliveTimeout, requestTimeout]) t.true(limit! <= 60_000);
  // The same limits, divided by a hundred.
  const server = createServer({
    ...CONNECTION_LIMITS,
    headersTimeout: headersTimeout! / 100,
    requestTimeout: requestTimeout! / 100,
    connectionsCheckingInterval: 20,
  });
  await using served = await listening(server);
  const auth = await createAuthServer({
    issuer: served.origin,
    users: people(),
    storage: memoryStorage(),
    interactions: pages(),
    gate,
    logger: { debug() {}, info() {}, warn() {}, error() {} },
  });
  server.on('request', auth.callback());

  for (const begin of [HALF, HEAD]) {
    const connection = await RawConnection.open(served.origin);
    connection.write(begin);
    t.is((await connection.answer()).status, 408, begin);
    await connection.closed().catch(() => {});
  }
  while ((await requestsInProgress(auth)) > 0) await new Promise(setImmediate);
  await auth.close();
});

test('header fields that are too large are refused, and the server continues', async (t) => {
  await using platform = await startPlatform();
  for (const path of ['/oauth/token', '/oauth/login', '/api/v1/identity', '/livez']) {
    const connection = await RawConnection.open(platform.origin);
    connection.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\nCookie: ${'x'.repeat(20_000)}\r\n\r\n`);
    const { status } = await connection.answer();
    t.is(status, 431, path);
    await connection.closed().catch(() => {});
  }
  t.is((await fetch(platform.url('/oauth/login'))).status, 200);
});

test('an endless body is answered at its limit, at every endpoint that reads one, without a 500', async (t) => {
  await using platform = await startPlatform();
  const { client, secret } = await platform.registerService(['view_schools']);
  const credentials = { client_id: client.id, client_secret: secret };
  const { body } = await platform.token({ grant_type: 'client_credentials', ...credentials });
  const form = 'application/x-www-form-urlencoded';
  const json = 'application/json';
  const endpoints: readonly (readonly [path: string, type: string, status: readonly number[]])[] = [
    ['/oauth/token', form, [400]],
    ['/oauth/token', json, [400]],
    ['/oauth/revoke', form, [400]],
    ['/oauth/introspect', json, [400]],
    ['/oauth/authorize', form, [400, 404, 413]],
    ['/oauth/login', form, [413]],
    // The form is not needed, so the response does not wait for it.
    ['/oauth/logout', form, [200]],
    ['/oauth/interaction/x/login', form, [400]],
    ['/oauth/interaction/x/consent', form, [400]],
    ['/account/apps/x/disconnect', form, [303, 401, 403]],
    ['/api/v1/actions/school/x-action', json, [404]],
    ['/api/v1/actions/school/x-action/bulk', json, [404]],
  ];
  const chunk = `2000\r\n${'x'.repeat(0x2000)}\r\n`;
  for (const [path, type, statuses] of endpoints) {
    const connection = await RawConnection.open(platform.origin);
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\nAuthorization: ${
        path.startsWith('/api') ? `Bearer ${body.access_token}` : 'none'
      }\r\n\r\n`,
    );
    // 200 KiB without an end.
    for (let count = 0; count < 25; count += 1) connection.write(chunk);
    const answer = await connection.answer();
    t.true(statuses.includes(answer.status), `${path} as ${type}: ${answer.status} ${answer.body}`);
    connection.close();
  }
  while ((await requestsInProgress(platform.auth)) > 0) await new Promise(setImmediate);
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});

async function listening(server: Server): Promise<AsyncDisposable & { readonly origin: string }> {
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => {
    server.once('listening', resolve);
  });
  const address = server.address();
  const port = typeof address === 'object' && address ? address.port : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
    },
  };
}
