import { createServer } from 'node:http';

import test from '../../harness/test.ts';

import { CONNECTION_LIMITS } from '../../../examples/server/connection-limits.ts';
import { startPlatform } from '../../harness/platform.ts';
import { requestsInProgress, untilIdle } from '../../harness/requests-in-progress.ts';
import { RawConnection } from '../../harness/raw-connection.ts';
import { clientToken, requestClientToken } from '../../harness/tokens.ts';
import { until } from '../../harness/until.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

const HALF = 'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\n';
const HEAD = `${HALF}Content-Type: application/json\r\nContent-Length: 50000\r\n\r\n`;

test('half-open connections do not count, and slow bodies give way to other requests after a second', async (t) => {
  // They are given up for other requests, not because of bodyTimeout.
  await using platform = await startPlatform({ limits: { concurrency: 20, bodyTimeout: '10 minutes' } });
  const service = await platform.registerService();
  const begun = performance.now();
  const slow: RawConnection[] = [];
  for (let count = 0; count < 40; count += 1) {
    const connection = await RawConnection.open(platform.origin);
    slow.push(connection);
    connection.write(count % 2 === 0 ? HALF : HEAD);
  }
  await until(async () => (await requestsInProgress(platform.auth)) === 20);
  const { status: first } = await requestClientToken(platform, service);
  // On a slow machine, the second may be over already.
  if (performance.now() - begun < 1000) t.is(first, 503, 'a body has at least a second');
  const dripping = setInterval(() => {
    for (const [index, connection] of slow.entries())
      connection.write(index % 2 === 0 ? 'X-Field: x\r\n' : ' ');
  }, 20);
  const tenTokens = async (): Promise<boolean> => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, async () => requestClientToken(platform, service)),
    );
    return answers.every(({ status }) => status === 200);
  };
  await until(tenTokens);
  t.true(performance.now() - begun < 10_000);
  const { status, headers, body } = await slow[1]!.answer();
  clearInterval(dripping);
  t.is(status, 408);
  t.is(headers.get('connection'), 'close');
  t.deepEqual(JSON.parse(body), {
    error: 'invalid_request',
    error_description: 'The body was not received in time.',
  });
  for (const connection of slow) connection.close();
  await untilIdle(platform);
  t.true(await tenTokens());
});

test('the limits of the bundled example close slow and half-open connections', async (t) => {
  const { headersTimeout, keepAliveTimeout, requestTimeout } = CONNECTION_LIMITS;
  for (const limit of [headersTimeout, keepAliveTimeout, requestTimeout]) t.true(limit! <= 60_000);
  // The same limits, divided by a hundred.
  await using platform = await startPlatform();
  const server = createServer(
    {
      ...CONNECTION_LIMITS,
      headersTimeout: headersTimeout! / 100,
      requestTimeout: requestTimeout! / 100,
      connectionsCheckingInterval: 20,
    },
    platform.auth.callback(),
  );
  const { port } = endWith(t, await listenOn(server));

  for (const begin of [HALF, HEAD]) {
    const connection = await RawConnection.open(`http://127.0.0.1:${port}`);
    connection.write(begin);
    t.is((await connection.answer()).status, 408, begin);
    await connection.closed().catch(() => {});
  }
  await untilIdle(platform);
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
  const token = await clientToken(platform, await platform.registerService(['view_schools']));
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
    ['/account/apps/x/revoke', form, [303, 401, 403]],
    ['/api/v1/actions/school/x-action', json, [404]],
    ['/api/v1/actions/school/x-action/bulk', json, [404]],
  ];
  const chunk = `2000\r\n${'x'.repeat(0x2000)}\r\n`;
  for (const [path, type, statuses] of endpoints) {
    const connection = await RawConnection.open(platform.origin);
    connection.write(
      `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\nAuthorization: ${
        path.startsWith('/api') ? `Bearer ${token}` : 'none'
      }\r\n\r\n`,
    );
    // 200 KiB without an end.
    for (let count = 0; count < 25; count += 1) connection.write(chunk);
    const answer = await connection.answer();
    t.true(statuses.includes(answer.status), `${path} as ${type}: ${answer.status} ${answer.body}`);
    connection.close();
  }
  await untilIdle(platform);
  t.false(platform.logger.lines.some(({ level }) => level === 'error'));
});
