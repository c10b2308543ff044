import { once } from 'node:events';
import { Agent, createServer, request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestListener, Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

import test from '../../harness/test.ts';
import type { ExecutionContext } from 'ava';
import type { Middleware } from 'koa';

import { bareApp, startPlatform } from '../../harness/platform.ts';
import type { Platform } from '../../harness/platform.ts';
import { asClient } from '../../harness/tokens.ts';
import { endWith, listenOn } from '../../harness/serve.ts';

const CLIENTS = 16;

interface Draining {
  readonly auth: Platform['auth'];
  readonly server: Server;
  readonly port: number;
  /** The parameters of a client credentials request. */
  readonly credentials: string;
}

const ownRoute: Middleware = (ctx) => {
  ctx.body = 'own';
};

async function startServer(t: ExecutionContext): Promise<Draining> {
  let listener!: RequestListener;
  const platform = endWith(
    t,
    await startPlatform(
      {},
      {
        app: (parts) => (listener = bareApp(parts, { before: [parts.auth.health()], behind: [ownRoute] })),
      },
    ),
  );
  const server = createServer(listener);
  const { port } = endWith(t, await listenOn(server));
  const credentials = { grant_type: 'client_credentials', ...asClient(await platform.registerService()) };
  return { auth: platform.auth, server, port, credentials: JSON.stringify(credentials) };
}

interface Sent {
  readonly status: number;
  readonly connection: string | undefined;
  readonly body: string;
}

/** Sends a request and reads the response; rejects with the error of the connection. */
async function send(
  agent: Agent,
  { port, path, body }: { port: number; path: string; body?: string },
): Promise<Sent> {
  const sent = httpRequest({
    agent,
    port,
    path,
    method: body === undefined ? 'GET' : 'POST',
    host: '127.0.0.1',
    headers: { 'Content-Type': 'application/json' },
  }).end(body);
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  return {
    status: response.statusCode!,
    connection: response.headers.connection,
    body: await text(response),
  };
}

test('clients with keep-alive connections move to another node during a drain, without an error', async (t) => {
  const [draining, other] = await Promise.all([startServer(t), startServer(t)]);
  const seen: Sent[] = [];
  const moved: Sent[] = [];
  const clients = Array.from({ length: CLIENTS }, async (_, index) => {
    // One connection each, like those of a load balancer, which opens the next one to a ready node.
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const wanted = ({ credentials, port }: Draining) =>
      index % 2 ? { port, path: '/own' } : { port, path: '/oauth/token', body: credentials };
    let last: Sent | undefined;
    while (last?.connection !== 'close') {
      last = await send(agent, wanted(draining));
      seen.push(last);
    }
    moved.push(await send(agent, wanted(other)));
  });
  while (seen.length < 2 * CLIENTS) await delay(1);

  const closing = draining.auth.close({ drain: '5 seconds', server: draining.server });
  const probe = await send(new Agent(), { port: draining.port, path: '/readyz' });
  t.is(probe.status, 503);
  t.is(probe.body, '{"status":"fail","output":"closing"}');
  t.is(
    (await send(new Agent(), { port: draining.port, path: '/own' })).status,
    200,
    'requests are still answered',
  );
  await Promise.all(clients);
  t.true(draining.server.listening, 'all clients have moved before the server stops listening');
  await closing;
  t.false(draining.server.listening);
  t.deepEqual(new Set([...seen, ...moved].map(({ status }) => status)), new Set([200]));
  t.is(seen.filter(({ connection }) => connection === 'close').length, CLIENTS);
  t.is(moved.length, CLIENTS);
});

test('a connection that is idle during the drain is closed, and close() does not wait for it', async (t) => {
  const { auth, server, port } = await startServer(t);
  const agent = new Agent({ keepAlive: true });
  t.is((await send(agent, { port, path: '/own' })).status, 200);
  await auth.close({ server });
  const error = await t.throwsAsync<NodeJS.ErrnoException>(send(agent, { port, path: '/own' }));
  t.regex(error?.code ?? '', /^ECONN/);
});

test('an invalid option of close() is an error that names it, and closes nothing', async (t) => {
  const { auth, port } = await startServer(t);
  for (const [options, message] of [
    [{ timeout: -1 }, /^close\(\{ timeout \}\): /],
    [{ drain: 'soon' }, /^close\(\{ drain \}\): /],
    [
      { dran: '5 seconds' },
      'close({ dran }): there is no such option; did you mean drain? The options are timeout, drain, server',
    ],
    [{ server: {} }, 'close({ server }): pass the server that listen() was called on, or leave it out'],
  ] as const)
    t.throws(() => auth.close(options as never), { code: 'ERR_CONFIG', message });
  t.is((await send(new Agent(), { port, path: '/readyz' })).status, 200);
});
