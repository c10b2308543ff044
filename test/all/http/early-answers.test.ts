import { fork } from 'node:child_process';
import { once } from 'node:events';

import test from '../../harness/test.ts';

import { startPlatform } from '../../harness/platform.ts';
import { koaApp, listenerOf } from '../../harness/serve.ts';
import { RawConnection } from '../../harness/raw-connection.ts';
import { requestsInProgress, untilIdle } from '../../harness/requests-in-progress.ts';
import { clientToken } from '../../harness/tokens.ts';
import { until } from '../../harness/until.ts';
import type { Answer, Order } from '../../http/posting-process.ts';
import { startWholeServer } from '../../security/whole-server.ts';
import type { Middleware } from 'koa';

const ACTION = '/api/v1/actions/school/create-school-action';

const PLACES = [
  ['/oauth/token', 'application/json', 400, 'The body is larger than 57344 bytes.'],
  ['/oauth/login', 'application/x-www-form-urlencoded', 413, 'The form is larger than 16384 bytes.'],
  [ACTION, 'application/json', 413, 'The body is larger than 65536 bytes.'],
  [ACTION, 'text/plain', 415, 'Send the body as application/json.'],
] as const;

const TIMES = 10;

test('a client gets the answer to a large body that it is still sending', async (t) => {
  const server = await startWholeServer(t);
  const service = await server.registerService(['edit_schools'] as never);
  const authorization = `Bearer ${await clientToken(server, service)}`;
  const poster = fork(new URL('../../http/posting-process.ts', import.meta.url).pathname);
  t.teardown(() => poster.kill());
  for (const client of ['fetch', 'node:http', 'node:http in chunks'] as const) {
    for (const [path, type, expected, reason] of PLACES) {
      for (let time = 0; time < TIMES; time += 1) {
        const headers = { authorization, 'content-type': type };
        poster.send({ client, url: server.url(path).href, headers } satisfies Order);
        const [{ status, text }] = (await once(poster, 'message')) as [Answer];
        t.is(status, expected, `${client} at ${path}: ${text}`);
        t.true(text.includes(reason), text);
      }
    }
  }
});

test('a client that goes on sending is waited for two seconds, and no longer', async (t) => {
  await using platform = await startPlatform();
  const connection = await RawConnection.open(platform.origin);
  const begun = performance.now();
  connection.write(
    'POST /oauth/token HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n',
  );
  const chunk = `10000\r\n${'x'.repeat(0x10000)}\r\n`;
  connection.write(chunk);
  const answer = await connection.answer();
  t.is(answer.status, 400);
  t.is(answer.headers.get('connection'), 'close');
  const sending = setInterval(() => connection.write(chunk), 50);
  t.teardown(() => clearInterval(sending));
  await connection.closed().catch(() => {});
  const waited = performance.now() - begun;
  t.true(waited > 1500, `${waited} ms`);
  await until(async () => (await requestsInProgress(platform.auth)) === 0);
  t.is((await fetch(platform.url('/oauth/login'))).status, 200);
});

test('an app hears nothing of a connection that breaks during a request to the server', async (t) => {
  const errors: unknown[] = [];
  await using platform = await startPlatform(
    {},
    {
      app({ api, auth }) {
        const app = koaApp(auth.middleware(), api.routes() as Middleware);
        app.on('error', (error: Error & { expose?: boolean }) => {
          if (error.expose !== true) errors.push(error);
        });
        return listenerOf(app);
      },
    },
  );
  const head = 'HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-www-form-urlencoded\r\n';
  for (const path of ['/oauth/token', '/oauth/login']) {
    const chunked = await RawConnection.open(platform.origin);
    chunked.write(`POST ${path} ${head}Transfer-Encoding: chunked\r\n\r\nno chunk\r\n`);
    await chunked.closed().catch(() => {});
    const broken = await RawConnection.open(platform.origin);
    broken.write(`POST ${path} ${head}Content-Length: 1000\r\n\r\na`);
    await until(async () => (await requestsInProgress(platform.auth)) === 1);
    broken.reset();
    await untilIdle(platform);
  }
  t.deepEqual(errors, []);
});
