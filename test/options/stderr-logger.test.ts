// Alone: it replaces methods of `console`.
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { connect } from 'node:net';

import test from 'ava';
import type { ExecutionContext } from 'ava';
import Koa from 'koa';
import { createApiRouter, createAuthServer, defineGate } from 'koa-gatehouse';
import { memoryStorage } from 'koa-gatehouse/adapters/memory';

import { stderrLogger } from '../../lib/options/stderr-logger.ts';
import { freePort } from '../harness/free-port.ts';
import { send } from '../harness/requests.ts';

const OPTIONS = {
  users: { find: async () => undefined, authenticate: async () => undefined, permissions: async () => [] },
  storage: memoryStorage(),
  gate: defineGate({ permissions: { view_schools: 'View schools' } }),
};

/** What a server without the option `logger` prints while requests are sent to routes of its API. */
async function printed(t: ExecutionContext, handle: () => unknown): Promise<string[]> {
  const { warn, error } = console;
  const lines: string[] = [];
  const record = (text: string): void => void lines.push(...text.split('\n'));
  Object.assign(console, { warn: record, error: record });
  t.teardown(() => Object.assign(console, { warn, error }));
  const port = await freePort();
  const auth = await createAuthServer({
    ...OPTIONS,
    issuer: `http://localhost:${port}`,
  });
  const api = createApiRouter({ auth });
  api.post('/schools', handle);
  const server = new Koa().use(auth.middleware()).use(api.routes()).listen(port, 'localhost');
  t.teardown(async () => {
    server.close();
    server.closeAllConnections();
    await auth.close();
  });
  const { client } = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
  const accessToken = await auth.issueToken({ client: client.id });
  await send(`http://localhost:${port}/api/v1/schools`, {
    method: 'POST',
    headers: { authorization: `Bearer ${accessToken}` },
  });
  return lines;
}

test.serial('an error is one line with time and level, with its stack indented below', async (t) => {
  const lines = await printed(t, () => {
    throw new Error('the database is full\n2026-01-01T00:00:00.000Z ERROR forged');
  });
  t.regex(
    lines[0]!,
    /^\d{4}-\d\d-\d\dT[\d:.]+Z ERROR api request failed request_id=[\w-]+ method=POST path=\/api\/v1\/schools$/,
  );
  t.is(lines[1], '  Error: the database is full');
  t.is(lines[2], '  2026-01-01T00:00:00.000Z ERROR forged');
  t.regex(lines[3]!, /^ +at .*stderr-logger\.test\.ts/);
  t.true(lines.slice(1).every((line) => line.startsWith('  ')));
});

test.serial('an error with a 4xx status is one line without its stack', async (t) => {
  const { error } = console;
  const lines: string[] = [];
  Object.assign(console, { error: (text: string) => lines.push(text) });
  t.teardown(() => Object.assign(console, { error }));
  const refused = Object.assign(new Error('no such page'), { status: 404 });
  stderrLogger.error({ err: refused, count: 2, reason: 'a b' }, 'page failed');
  t.is(lines.length, 1);
  t.regex(lines[0]!, /^\S+Z ERROR page failed count=2 reason="a b" err="no such page"$/);
});

test.serial('a client that disconnects while sending a body is not logged', async (t) => {
  const port = await freePort();
  const auth = await createAuthServer({ ...OPTIONS, issuer: `http://localhost:${port}` });
  const api = createApiRouter({ auth });
  api.post('/schools', () => t.fail('the body did not arrive'));
  const app = new Koa();
  app.on('error', () => {}); // Koa reports the broken connection too.
  const ended = new Promise<unknown>((resolve) => {
    app.use(async (_ctx, next) => next().then(() => resolve(undefined), resolve));
  });
  const server = app.use(api.routes()).listen(port, 'localhost');
  await once(server, 'listening');
  t.teardown(async () => {
    server.close();
    await auth.close();
  });
  const socket = connect(port, 'localhost');
  await once(socket, 'connect');
  const { client } = await auth.clients.create({ name: 'Sync', grantType: 'client_credentials' });
  const token = await auth.issueToken({ client: client.id });
  const head = ['POST /api/v1/schools HTTP/1.1', 'Host: localhost', `Authorization: Bearer ${token}`];
  const body = ['Content-Type: application/json', 'Content-Length: 100', '', '{'];
  socket.write([...head, ...body].join('\r\n'));
  const [message] = (await once(server, 'request')) as [IncomingMessage];
  await once(message, 'resume'); // The body is being read.
  socket.destroy();
  t.is(await ended, undefined);
});
